"""scikit-learn's exact GP on a random subset: constant times RBF or Matern with ARD, plus white noise, L-BFGS-B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from benchmarks.peers.systems import CHUNK, Vector

NOISE_RANGE = (1e-8, 10.0)
SCALE_RANGE = (1e-5, 1e5)


def fit(X: Vector, y: Vector, seed: int, *, kernel: str, n_subset: int) -> FittedExact:
    """Learn on ``n_subset`` rows drawn without replacement; the same starts as the committee's."""
    rows = np.random.default_rng(seed).choice(len(X), min(n_subset, len(X)), replace=False)
    covariance = ConstantKernel(1.0, SCALE_RANGE) * _base(kernel, X.shape[1]) + WhiteKernel(0.1, NOISE_RANGE)
    model = GaussianProcessRegressor(covariance, alpha=0.0, random_state=seed, copy_X_train=False)
    return FittedExact(model.fit(X[rows], y[rows]))


@dataclass(frozen=True)
class FittedExact:
    model: Any

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        parts = [self.model.predict(X[i : i + CHUNK], return_std=True) for i in range(0, len(X), CHUNK)]
        mean, std = (np.concatenate(values) for values in zip(*parts, strict=True))
        return mean, std**2

    def learned(self) -> dict[str, object]:
        return {
            "log_likelihood": float(self.model.log_marginal_likelihood_value_),
            "hyperparameters": {name: float(value) for name, value in _named(self.model.kernel_)},
        }


def _base(kernel: str, n_features: int) -> Any:
    lengthscales = np.ones(n_features)
    if kernel == "matern32":
        return Matern(lengthscales, SCALE_RANGE, nu=1.5)
    return RBF(lengthscales, SCALE_RANGE)


def _named(kernel: Any) -> list[tuple[str, float]]:
    """Free parameters in natural units."""
    return [(f"theta_{i}", value) for i, value in enumerate(np.exp(kernel.theta))]
