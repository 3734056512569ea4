"""How far one has to go along each input until a kernel's correlation falls: the metric in which it sees the rows.

Measured on the kernel itself, so that any kernel has it. Along input j, from the centre of the standardised inputs, the
scale is the distance at which the correlation has fallen by a tenth of what it falls by on the way to a typical row.
For a stationary kernel with one lengthscale per input, that is the lengthscale times a number common to all inputs. A
sum of kernels has its fastest term's scale, the longer the smaller the term's share of the variance: the distance over
which the function changes by a given amount. A constant or very long term does not count, since the fall is measured
against a typical one. A small fall is looked at, so that inputs of an additive kernel, none of which takes the
correlation far down, have scales of their own.

References
----------
Rasmussen and Williams (2006), section 5.1 (automatic relevance determination).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gpcommittee.kernels.function import KernelFunction
from gpcommittee.records import FloatArray

FALL = 0.1
"""Share of the typical fall of the correlation."""

DISTANCES = np.logspace(-6, 6, 193)
"""Where the fall is looked for, in standard deviations of an input; the largest stands for an input without effect."""

BISECTIONS = 40
SAMPLE = 256
SMALLEST_FALL = 1e-6
"""Below this typical fall the kernel is constant over the data."""

ALIKE = 1e-6
"""Relative difference of scales that are one."""


def input_scales(kernel: KernelFunction, theta: FloatArray, X: FloatArray | Tensor) -> FloatArray | None:
    """Scale of each input in a kernel's metric.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray, shape (p,)
        Unconstrained kernel parameters.
    X : ndarray or Tensor, shape (n_rows, n_features)
        Standardised inputs; a few of them say what a typical row is.

    Returns
    -------
    ndarray of shape (n_features,) or None
        From 1e-6 to 1e6. None where all are one, and where the kernel has no such metric: it is constant over the data,
        or has no variance at the centre, as a linear kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from gpcommittee.kernels import KernelFunction, make_kernel
    >>> kernel = make_kernel("matern32", 2).initialize(**{"base_kernel.lengthscale": [[0.5, 2.0]]})
    >>> function = KernelFunction(kernel)
    >>> scales = input_scales(function, function.start, np.random.default_rng(0).normal(size=(100, 2)))
    >>> float(round(scales[1] / scales[0], 6))
    4.0
    """
    correlation = _Correlation(KernelFunction(kernel.with_parameters(theta)))
    typical = 1 - correlation.with_centre(_sample(X)).mean()
    if not typical > SMALLEST_FALL:
        return None
    scales = _first_falls(correlation, X.shape[1], FALL * typical)
    return None if scales is None or np.ptp(scales) <= ALIKE * scales.min() else scales


def sampled(n_rows: int) -> slice:
    """The few of so many rows that are looked at; of a few already, all."""
    return slice(None, None, max(1, n_rows // SAMPLE))


def _sample(X: FloatArray | Tensor) -> FloatArray:
    few = X[sampled(len(X))]
    return few.double().cpu().numpy() if isinstance(few, Tensor) else few


class _Correlation:
    def __init__(self, kernel: KernelFunction) -> None:
        self.kernel = kernel
        self.theta = kernel.tensor(kernel.start)

    def with_centre(self, points: FloatArray) -> FloatArray:
        """Correlation of the function at the centre and at points, shape (n,); NaN where one has no variance."""
        at = torch.from_numpy(np.ascontiguousarray(points))
        centre = torch.zeros(1, points.shape[1], dtype=torch.float64)
        with torch.no_grad():
            covariance = self.kernel.covariance(self.theta, centre, at)[0]
            variance, of_centre = self.kernel.variance(self.theta, at), self.kernel.variance(self.theta, centre)
            correlation: FloatArray = (covariance / (variance * of_centre).sqrt()).numpy()
        return correlation

    def falls(self, distances: FloatArray) -> FloatArray:
        """By how much it falls at one distance along each input, shape (n_features,)."""
        return 1 - self.with_centre(np.diag(distances))


def _first_falls(correlation: _Correlation, n_features: int, level: float) -> FloatArray | None:
    """Distance along each input at which the fall first reaches a level, shape (n_features,)."""
    falls = np.array([correlation.falls(np.full(n_features, distance)) for distance in DISTANCES]).T
    if not np.isfinite(falls).all():
        return None
    reached = falls >= level
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(DISTANCES) - 1)
    low, high = np.log(DISTANCES[np.maximum(first - 1, 0)]), np.log(DISTANCES[first])
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        beyond = correlation.falls(np.exp(middle)) >= level
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.exp(high)
