"""FITC (Snelson and Ghahramani, 2006) by GPy: sparse GP with its exact FITC inference, inducing inputs learned too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.paper.systems.fitted import FittedBaselineSystem
from gpcommittee.data import restore_mean, restore_variance, standardisation, standardise_inputs, standardise_target
from gpcommittee.records import FloatArray, Standardisation


@dataclass(frozen=True)
class FITC:
    """A baseline: inducing inputs start at random rows; L-BFGS-B learns them with the hyperparameters."""

    n_inducing: int
    max_iterations: int = 500
    seed: int = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedFITC:
        inputs, target = np.asarray(X), np.asarray(y)
        scaling = standardisation(inputs, target)
        model = self._model(standardise_inputs(inputs, scaling), standardise_target(target, scaling))
        model.optimize("lbfgsb", max_iters=self.max_iterations)
        return FittedFITC(model, scaling)

    def _model(self, X: FloatArray, y: FloatArray) -> Any:
        import GPy

        start = X[np.random.default_rng(self.seed).choice(len(X), self.n_inducing, replace=False)]
        return GPy.core.SparseGP(
            X,
            y[:, None],
            start.copy(),
            kernel=GPy.kern.RBF(X.shape[1], ARD=True),
            likelihood=GPy.likelihoods.Gaussian(variance=0.1),
            inference_method=GPy.inference.latent_function_inference.FITC(),
            name="fitc",
        )


@dataclass(frozen=True)
class FittedFITC:
    model: Any
    scaling: Standardisation

    def predict(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.model.predict(standardise_inputs(np.asarray(X), self.scaling))
        return restore_mean(mean[:, 0], self.scaling), np.sqrt(restore_variance(variance[:, 0], self.scaling))

    def learned(self) -> dict[str, object]:
        return {
            "log_likelihood": float(self.model.log_likelihood()),
            "iterations": [str(run.status) for run in self.model.optimization_runs],
            "hyperparameters": {
                "lengthscale": self.model.kern.lengthscale.values.tolist(),
                "outputscale": float(self.model.kern.variance[0]),
                "noise_variance": float(self.model.likelihood.variance[0]),
            },
        }


@dataclass(frozen=True)
class FITCSystem:
    n_inducing: int
    max_iterations: int = 500

    def fit(self, X: FloatArray, y: FloatArray, seed: int, n_jobs: int) -> FittedBaselineSystem:
        fitted = FITC(self.n_inducing, self.max_iterations, seed).fit(X, y)
        return FittedBaselineSystem("fitc", fitted, fitted.learned())

    def shrunk(self) -> FITCSystem:
        return replace(self, n_inducing=20, max_iterations=3)
