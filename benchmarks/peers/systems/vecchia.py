"""GPBoost's Vecchia and full-scale Vecchia approximations, Gaussian likelihood, its own defaults otherwise.

Prediction conditions on twice the neighbours of training, GPBoost's default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gpboost
import numpy as np

from benchmarks.peers.systems import Vector

COVARIANCES: dict[str, dict[str, object]] = {
    "squared_exponential": {"cov_function": "gaussian_ard"},
    "matern32": {"cov_function": "matern_ard", "cov_fct_shape": 1.5},
}


def fit(
    X: Vector,
    y: Vector,
    seed: int,
    *,
    kernel: str,
    approximation: str,
    n_neighbours: int,
    n_inducing: int | None = None,
) -> FittedGPBoost:
    """``approximation`` is "vecchia" or "full_scale_vecchia"."""
    inducing = {} if n_inducing is None else {"num_ind_points": n_inducing}
    model = gpboost.GPModel(
        likelihood="gaussian",
        gp_coords=X,
        gp_approx=approximation,
        num_neighbors=n_neighbours,
        num_parallel_threads=1,
        seed=seed,
        **COVARIANCES[kernel],
        **inducing,
    )
    return FittedGPBoost(model.fit(y=y))


@dataclass(frozen=True)
class FittedGPBoost:
    model: Any

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        found = self.model.predict(gp_coords_pred=X, predict_var=True, predict_response=True)
        return np.asarray(found["mu"]), np.asarray(found["var"])

    def learned(self) -> dict[str, object]:
        parameters = self.model.get_cov_pars()
        names, values = list(parameters.columns), parameters.to_numpy()[0]
        return {
            "negative_log_likelihood": float(self.model.get_current_neg_log_likelihood()),
            "hyperparameters": {str(name): float(value) for name, value in zip(names, values, strict=True)},
        }
