"""Rows and settings of the tests on a cluster, and the same fit on one machine."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpcommittee import CommitteeRegressor
from gpcommittee.records import FloatArray

SETTINGS: dict[str, Any] = {"kernel": "squared_exponential", "expert_size": 30, "random_state": 0, "n_jobs": 1}

_generator = np.random.default_rng(0)
X = _generator.uniform(-2, 2, (330, 2))
Y = np.sin(2 * X).sum(axis=1) + 0.1 * _generator.standard_normal(330)
POINTS = _generator.uniform(-2.5, 2.5, (60, 2))


@cache
def fitted_here(**changed: Any) -> CommitteeRegressor:
    """On one machine."""
    return CommitteeRegressor(**{**SETTINGS, **changed}).fit(X, Y)


def parameters(model: CommitteeRegressor) -> FloatArray:
    return np.concatenate([np.ravel(value) for value in model.hyperparameters_.values()])
