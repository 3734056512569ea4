"""The GP of each point's nearest rows (GPnn, Allison et al., 2023), put together from scikit-learn and SciPy.

Hyperparameters come from scikit-learn's exact GP on a random subset, and one factor on all variances makes the mean
squared z-score 1 at rows that are predicted from the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import int64
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.neighbors import NearestNeighbors

from benchmarks.peers.systems import CHUNK, Vector, exact

Rows = NDArray[int64]


def fit(
    X: Vector, y: Vector, seed: int, *, kernel: str, n_subset: int, n_neighbours: int, n_calibration: int
) -> FittedNeighbours:
    """Learn on ``n_subset`` rows, calibrate at ``n_calibration``; neighbours are near in the learned lengthscales."""
    subset = exact.fit(X, y, seed, kernel=kernel, n_subset=n_subset)
    search = NearestNeighbors(n_neighbors=n_neighbours, n_jobs=1)
    fitted = FittedNeighbours(X, y, subset.model.kernel_, search, subset.learned())
    search.fit(fitted.scaled(X))
    rows = np.random.default_rng(seed).permutation(len(X))[:n_calibration]
    mean, variance = fitted.leave_one_out(rows)
    return replace(fitted, dispersion=float(np.mean((y[rows] - mean) ** 2 / variance)))


@dataclass(frozen=True)
class FittedNeighbours:
    X: Vector
    y: Vector
    kernel: Any
    """Signal plus white noise."""
    search: NearestNeighbors
    subset: dict[str, object]
    dispersion: float = 1.0

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        chunks = (X[i : i + CHUNK] for i in range(0, len(X), CHUNK))
        found = (self.search.kneighbors(self.scaled(chunk), return_distance=False) for chunk in chunks)
        mean, variance = self._posterior(X, (rows for of_chunk in found for rows in of_chunk))
        return mean, self.dispersion * variance

    def leave_one_out(self, rows: Rows) -> tuple[Vector, Vector]:
        """At rows of the training part, each from its neighbours without itself, not calibrated."""
        n_near = min(self.search.n_neighbors + 1, len(self.X))
        found = self.search.kneighbors(self.scaled(self.X[rows]), n_near, return_distance=False)
        others = (near[near != row][: n_near - 1] for row, near in zip(rows, found, strict=True))
        return self._posterior(self.X[rows], others)

    def learned(self) -> dict[str, object]:
        return {**self.subset, "dispersion": self.dispersion}

    def scaled(self, X: Vector) -> Vector:
        """Inputs in which neighbours are near."""
        divided: Vector = X / self.kernel.k1.k2.length_scale
        return divided

    def _posterior(self, X: Vector, neighbours: Iterable[Rows]) -> tuple[Vector, Vector]:
        """Mean and variance of an observation at each point, from rows of its own."""
        signal, noise = self.kernel.k1, self.kernel.k2.noise_level
        answers = np.empty((len(X), 2))
        for i, rows in enumerate(neighbours):
            covariance = signal(self.X[rows])
            covariance[np.diag_indices_from(covariance)] += noise
            cross = signal(self.X[rows], X[i : i + 1])[:, 0]
            solved = cho_solve(cho_factor(covariance, lower=True, overwrite_a=True), cross)
            answers[i] = solved @ self.y[rows], signal.diag(X[i : i + 1])[0] + noise - solved @ cross
        return answers[:, 0], answers[:, 1]
