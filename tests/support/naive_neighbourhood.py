"""Neighbourhood experts written out one point at a time, rows deleted one by one: slow, independent, for tests only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from naive import Array, NaiveGP

Numbers = NDArray[np.int64]

VOTERS, NEAREST, PRIOR_ROWS, SURPRISES = 16, 60, 10.0, 1.0


@dataclass(frozen=True)
class NaiveNeighbourhoods:
    """Leaves of rows, and the sizes of the experts around them.

    Attributes
    ----------
    gp : NaiveGP
        Its lengthscales are the metric.
    X, y : ndarray
        Of all rows, the communication set first.
    leaves : list of ndarray of int64
    n_rows, communication : int
        Rows of an expert, and how many of them are the first of all rows.
    signal, noise : ndarray, shape (n,), optional
        Every row's own signal variance and noise in units of it, as multiples of the shared ones.
    """

    gp: NaiveGP
    X: Array
    y: Array
    leaves: list[Numbers]
    n_rows: int
    communication: int = 0
    signal: Array | None = None
    noise: Array | None = None

    def distances(self, rows: Numbers, x: Array) -> Array:
        found: Array = np.sqrt((((self.X[rows] - x) / self.gp.lengthscale) ** 2).sum(axis=1))
        return found

    def rows_of(self, leaf: int) -> tuple[list[int], list[int]]:
        """Rows of a leaf's expert, and those of them that are in the middle."""
        own, common = self.leaves[leaf].tolist(), list(range(self.communication))
        others = np.array([i for i in range(len(self.y)) if i not in own and i not in common], dtype=np.int64)
        centre = self.X[own].mean(axis=0)
        # To rounding: of rows at one distance, those with the lower numbers.
        far = self.distances(others, centre).round(12)
        wanted = max(0, self.n_rows - len(common) - len(own))
        near = [int(others[i]) for i in np.lexsort((others, far))[:wanted]]
        return common + own + near, own + near[: len(own)]

    def expert(self, rows: list[int], x: Array) -> tuple[float, float]:
        """Mean and latent variance of the exact process on some rows."""
        X, relative = self.X[rows], np.ones(len(rows)) if self.noise is None else self.noise[rows]
        inverse = np.linalg.inv(self.gp.k(X, X) + self.gp.noise_variance * np.diag(relative))
        cross = self.gp.k(X, x[None])[:, 0]
        return float(cross @ inverse @ self.y[rows]), float(self.gp.signal_variance - cross @ inverse @ cross)

    def squares(self, leaf: int) -> dict[int, float]:
        """Squared standardised error at each row in the middle of an expert of all its other rows."""
        rows, middle = self.rows_of(leaf)
        found = {}
        for j in middle:
            mean, latent = self.expert([i for i in rows if i != j], self.X[j])
            noise = self.gp.noise_variance * (1.0 if self.noise is None else self.noise[j])
            signal = 1.0 if self.signal is None else self.signal[j]
            found[j] = float((self.y[j] - mean) ** 2 / (latent + noise) / signal)
        return found

    def scales(self, leaf: int, x: Array, calibrated: bool, left_out: int | None = None) -> tuple[float, float]:
        """Scale of a leaf's variances at a point, and its relative noise."""
        squares = self.squares(leaf) if calibrated else dict.fromkeys(self.rows_of(leaf)[1], 1.0)
        middle = np.array([j for j in squares if j != left_out], dtype=np.int64)
        far = self.distances(middle, x)
        near = np.argsort(far, kind="stable")[: NEAREST + 1]
        weights = 1 - (far[near] / (far[near].max() * (1 + 1e-6))) ** 2
        rows, log_scale, log_noise = middle[near], 0.0, 0.0
        if calibrated:
            p, total = len(squares), weights.sum()
            wider = np.log(np.mean(list(squares.values()))) * p / (p + PRIOR_ROWS)
            count = total**2 / (weights**2).sum()
            mean = (weights * [squares[j] for j in rows]).sum() / total
            mean = (count * mean + SURPRISES * np.exp(wider)) / (count + SURPRISES)
            log_scale = (count * np.log(mean) + PRIOR_ROWS * wider) / (count + PRIOR_ROWS)
        if self.signal is not None and self.noise is not None:
            log_scale += (weights * np.log(self.signal[rows])).sum() / weights.sum()
            log_noise = (weights * np.log(self.noise[rows])).sum() / weights.sum()
        return float(np.exp(log_scale)), float(np.exp(log_noise))

    def shares(self, x: Array, blend: float, left_out: int | None = None) -> dict[int, float]:
        """Weight of every leaf that is blended at a point."""
        if len(self.leaves) == 1:
            return {0: 1.0}
        leaf_of = {int(i): leaf for leaf, rows in enumerate(self.leaves) for i in rows if i != left_out}
        rows = np.array(sorted(leaf_of), dtype=np.int64)
        far = self.distances(rows, x)
        near = np.argsort(far, kind="stable")[: VOTERS + 1]
        votes: dict[int, float] = {}
        for i in near:
            leaf = leaf_of[int(rows[i])]
            votes[leaf] = votes.get(leaf, 0.0) + 1 - (far[i] / (far[near].max() * (1 + 1e-6))) ** 2
        least = (1 - blend) * max(votes.values())
        kept = {leaf: vote - least for leaf, vote in votes.items() if vote > least}
        return {leaf: vote / sum(kept.values()) for leaf, vote in kept.items()}

    def predict(
        self, x: Array, blend: float, calibrated: bool, left_out: int | None = None
    ) -> tuple[float, float, float]:
        """Blended mean, latent variance and variance of an observation; of a row without itself on request."""
        found = []
        for leaf, weight in self.shares(x, blend, left_out).items():
            rows = [i for i in self.rows_of(leaf)[0] if i != left_out]
            mean, latent = self.expert(rows, x)
            scale, noise = self.scales(leaf, x, calibrated, left_out)
            found.append((weight, mean, scale * latent, scale * noise * self.gp.noise_variance))
        mean = sum(weight * mu for weight, mu, _, _ in found)
        latent = sum(weight * (v + (mu - mean) ** 2) for weight, mu, v, _ in found)
        return mean, latent, latent + sum(weight * s2 for weight, _, _, s2 in found)
