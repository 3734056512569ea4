"""Signal and noise variance of one expert's own, around those that all share.

The residual of the expert's rows given the communication rows is taken to be N(0, a (P + r s2 I)): P its latent
covariance at the shared hyperparameters, a the signal variance and a r the noise variance in units of the shared ones.
With P = Q L Q' and b = Q' (residual), any r costs O(m):
-log p = 1/2 sum log(l_j + r s2) + m/2 log a + sum b_j^2 / (l_j + r s2) / (2 a) + constant.
Maximum a posteriori with log r ~ N(0, ``WIDTH``^2), and ``PRIOR_ROWS`` rows with errors as large as a = 1 says beside
the expert's own; then a follows from r, and one dimension is searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from gpcommittee.experts.augmented import residual_of
from gpcommittee.experts.base import BaseFactor
from gpcommittee.experts.committee import Committee
from gpcommittee.records import FloatArray

WIDTH = 0.5
"""Standard deviation of the logarithm of the noise-to-signal ratio among experts: a factor of 2.7 either way is rare.
Ten times as weak a prior changed the errors of kin40k and sarcos by less than 0.005 nats."""

PRIOR_ROWS = 10.0
"""As many as a dispersion counts: the scale of a few rows is mostly chance."""

FARTHEST = 5.0
"""Largest change of the logarithm of the ratio that is searched."""

LEAST_NOISE = 1e-8
"""Noise variance, in units of the target's, below which no expert's own goes: the lower bound of the training."""

GRID = 21
"""Ratios among which the search begins: the posterior may have two modes."""

TOLERANCE = 1e-6
"""Of the logarithm of the ratio."""


@dataclass(frozen=True)
class Spectrum:
    """An expert's residual in the basis in which its latent covariance is diagonal.

    Attributes
    ----------
    variances : ndarray, shape (m,)
        Eigenvalues L of P, at least 0.
    target : ndarray, shape (m,)
        b.
    noise_variance : float
        s2, shared.
    """

    variances: FloatArray
    target: FloatArray
    noise_variance: float

    def signal(self, log_ratio: float) -> float:
        """The best signal variance a, given log r."""
        squares = float((self.target**2 / self._noisy(log_ratio)).sum())
        return (squares + PRIOR_ROWS) / (len(self.target) + PRIOR_ROWS)

    def loss(self, log_ratio: float) -> float:
        """Negative log posterior of log r, at the best a, up to a constant."""
        of_scale = 0.5 * (len(self.target) + PRIOR_ROWS) * np.log(self.signal(log_ratio))
        return float(of_scale + 0.5 * np.log(self._noisy(log_ratio)).sum() + 0.5 * (log_ratio / WIDTH) ** 2)

    def _noisy(self, log_ratio: float) -> FloatArray:
        noisy: FloatArray = self.variances + np.exp(log_ratio) * self.noise_variance
        return noisy


def own_variances(committee: Committee, communication: BaseFactor, expert: int) -> tuple[float, float]:
    """Signal and noise variance of one expert, as multiples of the shared ones.

    Parameters
    ----------
    committee : Committee
        In float64.
    communication : BaseFactor
        The same.
    expert : int
        At least 1.

    Returns
    -------
    signal, noise : float
    """
    noise = committee.noise_variance
    with torch.no_grad():
        residual = residual_of(committee, communication, expert, 0.0)
        variances, basis = torch.linalg.eigh(residual.covariance)
        target = basis.mT @ residual.target
    spectrum = Spectrum(variances.clamp_min(0.0).numpy(force=True), target.numpy(force=True), noise)
    log_ratio = _least(spectrum, float(np.clip(np.log(LEAST_NOISE / noise), -FARTHEST, 0.0)))
    signal = spectrum.signal(log_ratio)
    return signal, signal * float(np.exp(log_ratio))


def _least(spectrum: Spectrum, lower: float) -> float:
    """The log ratio of least loss between a bound and ``FARTHEST``."""
    grid = np.linspace(lower, FARTHEST, GRID)
    best = int(np.argmin([spectrum.loss(float(ratio)) for ratio in grid]))
    bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    found = minimize_scalar(spectrum.loss, bounds=bounds, method="bounded", options={"xatol": TOLERANCE})
    return float(found.x)
