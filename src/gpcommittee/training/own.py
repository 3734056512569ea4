"""Variances of every expert's own, once the shared hyperparameters are learned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from gpcommittee.engines import Engine
from gpcommittee.experts import Committee, factor_base, own_variances
from gpcommittee.progress import Reporter
from gpcommittee.records import OwnVariances

EXPERT_VARIANCES = ("shared", "own")
"""Whether experts have signal and noise variances of their own."""


def with_own_variances(committee: Committee, engine: Engine, reporter: Reporter) -> Committee:
    """The same committee with signal and noise variances of every expert's own, the communication expert aside.

    Parameters
    ----------
    committee : Committee
        With the shared hyperparameters learned.
    engine : Engine
    reporter : Reporter

    Returns
    -------
    Committee

    Raises
    ------
    NotPositiveDefiniteError
        If the communication expert's covariance cannot be factored.
    """
    double = replace(committee, own=None).as_type(torch.float64)
    found = [(1.0, 1.0)]
    with reporter.stage("variances", committee.n_experts, unit="experts") as stage, torch.no_grad():
        (communication,) = engine.map(partial(factor_base, double), [0])
        stage.advance()
        for one in engine.map(partial(own_variances, double, communication), range(1, committee.n_experts)):
            found.append(one)
            stage.advance()
    signal, noise = np.array(found).T
    return replace(committee, own=OwnVariances(signal, noise))
