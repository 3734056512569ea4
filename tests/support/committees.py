"""Small committees for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gpcommittee.aggregation import Rule
from gpcommittee.engines import Engine, SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Hyperparameters, Prediction, Standardisation
from naive import Array, NaiveGP

Blocks = Sequence[tuple[Array, Array]]


def identity_scaling(n_features: int) -> Standardisation:
    return Standardisation(np.zeros(n_features), np.ones(n_features), 0.0, 1.0)


def random_blocks(sizes: Sequence[int], n_features: int, seed: int) -> list[tuple[Array, Array]]:
    """Blocks of rows of a smooth function with noise."""
    generator = np.random.default_rng(seed)
    inputs = [generator.uniform(-2, 2, (size, n_features)) for size in sizes]
    return [(X, np.sin(2 * X).sum(axis=1) + 0.1 * generator.standard_normal(len(X))) for X in inputs]


def theta_of(gp: NaiveGP) -> FloatArray:
    """The default kernel's parameter vector and the log noise variance."""
    theta: FloatArray = np.log(np.concatenate([[gp.signal_variance], gp.lengthscale, [gp.noise_variance]]))
    return theta


def committee_of(gp: NaiveGP, blocks: Blocks) -> Committee:
    theta = theta_of(gp)
    return Committee(
        KernelFunction(make_kernel("squared_exponential", len(gp.lengthscale))),
        Hyperparameters(theta[:-1], float(theta[-1])),
        torch.from_numpy(np.vstack([X for X, _ in blocks])),
        torch.from_numpy(np.concatenate([y for _, y in blocks])),
        np.cumsum([0, *(len(y) for _, y in blocks)]),
    )


def predict(
    committee: Committee, x: Array, rules: Sequence[Rule], *, budget: float = 1e9, engine: Engine | None = None
) -> list[Prediction]:
    store = FactorStore(committee, budget)
    scaling = identity_scaling(x.shape[1])
    return predict_rules(store, scaling, x, rules, engine or SerialEngine(), SilentReporter())


def variances(prediction: Prediction) -> tuple[FloatArray, FloatArray]:
    """Latent and noisy variance, which are there unless only the mean was asked for."""
    assert prediction.var_latent is not None
    assert prediction.var_noisy is not None
    return prediction.var_latent, prediction.var_noisy
