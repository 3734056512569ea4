"""Neighbourhood experts: the exact process on a leaf's rows and those around it, and how large its errors are there.

With the rows in the order [communication, far to near neighbours, own] one factor L L' = A = K + diag(noise) has what
predictions need, beside a = A^-1 y, and in its last block what leave-one-out residuals of the rows in the
middle need: for the last p rows, with all others known, [A^-1]_pp = (L_pp L_pp')^-1, whatever stands before them. Row j
is predicted by all others of the expert with the standardised error z_j = a_j / sqrt([A^-1]_jj) (Rasmussen and
Williams, 2006, Eqs. 5.10 to 5.12). Rows in the middle have neighbours on all sides, as a test point has, so that z^2
is an honest measure of the variances around them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from gpcommittee.experts.base import floor_variance
from gpcommittee.experts.committee import Committee
from gpcommittee.linalg import (
    cholesky,
    row_sums_of_squares,
    solve_lower,
    solve_lower_transposed,
    whiten_rows,
)
from gpcommittee.records import FloatArray, IntArray
from gpcommittee.scratch import Scratch

NEAREST = 60
"""Rows whose errors are averaged at a point. Fewer follow the noise of single errors, more blur its changes."""

WIDE = 300
"""Rows of the wider surroundings, whose errors stand for those of single rows as far as these are too few."""

PRIOR_ROWS = 10.0
"""Rows with the errors of the wider surroundings that are counted beside the nearest, in the logarithm: so a quiet
region in a noisy surrounding can be quiet. Those of the wider surroundings are drawn towards 1 in the same way."""

SURPRISES = 1.0
"""Rows with the mean square error of the wider surroundings that are counted beside them in the mean itself: however
well many rows are predicted, the next may be as far off as others are around."""

SMALLEST_SQUARE = 1e-12
"""Mean squared residual below which none is believed."""

WIDER = 1.0 + 1e-6
"""By how much the farthest row's distance is stretched, so that rows at one distance from a point all count."""


@dataclass(frozen=True)
class LocalScales:
    """How variances change around a leaf: errors of its expert, and variances of the experts' own.

    Attributes
    ----------
    tree : scipy.spatial.cKDTree
        Of the rows in the middle, in the kernel's metric.
    squares : ndarray, shape (p,), or None
        Their squared standardised leave-one-out residuals, where variances are calibrated; of rows at one place, the
        mean of these, since a search takes any of them.
    log_wide : ndarray, shape (p,)
        Logarithm of the mean of these in the wider surroundings of each row.
    log_own : ndarray, shape (2, p), or None
        Logarithms of each row's own signal variance and relative noise variance, where experts have their own.
    """

    tree: cKDTree
    squares: FloatArray | None
    log_wide: FloatArray
    log_own: FloatArray | None

    def at(self, points: FloatArray, left_out: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Scale of the variances and relative noise, continuous functions of the point, each of shape (n_points,).

        Means over the nearest rows, weighted by ``nearness``: of the squared residuals, drawn in its logarithm towards
        that of the wider surroundings; of the logarithms of the rows' own variances.

        Parameters
        ----------
        points : ndarray, shape (n_points, n_features)
            In the kernel's metric.
        left_out : ndarray of int64, shape (n_points,), optional
            Of each point, the row that does not count, as a number among the rows in the middle; -1: all count.
        """
        rows, weights = self._nearest(points, left_out)
        total = np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
        log_scale, log_noise = np.zeros(len(points)), np.zeros(len(points))
        if self.squares is not None:
            wide = (weights * self.log_wide[rows]).sum(axis=1) / total
            log_scale = log_mean_square(weights, self.squares[rows], wide, SURPRISES)
        if self.log_own is not None:
            signal, log_noise = (weights * self.log_own[:, rows]).sum(axis=2) / total
            log_scale = log_scale + signal
        return np.exp(log_scale), np.exp(log_noise)

    def _nearest(self, points: FloatArray, left_out: IntArray | None) -> tuple[IntArray, FloatArray]:
        """The nearest rows of points and their weights, each of shape (n_points, k)."""
        n_rows, extra = self.tree.n, 1 if left_out is None else 2
        distances, rows = self.tree.query(points, k=np.arange(1, min(NEAREST + extra, n_rows) + 1))
        if left_out is not None:
            distances, rows = without(left_out, distances, rows, NEAREST + 1)
        return rows, nearness(distances)


def log_mean_square(
    weights: FloatArray, squares: FloatArray, prior: FloatArray | float, surprises: float = 0.0
) -> FloatArray:
    """Logarithm of a weighted mean square, drawn towards a prior value, shape (n_points,).

    The prior counts as so many rows as there are surprises in the mean, and as ``PRIOR_ROWS`` in the logarithm.

    Parameters
    ----------
    weights, squares : ndarray, shape (n_points, k)
    prior : float or ndarray, shape (n_points,)
        Of the logarithm.
    surprises : float
    """
    least = np.finfo(float).tiny
    total = weights.sum(axis=1)
    mean = (weights * squares).sum(axis=1) / np.maximum(total, least)
    count = total**2 / np.maximum(np.square(weights).sum(axis=1), least)
    mean = (count * mean + surprises * np.exp(prior)) / np.maximum(count + surprises, least)
    local = np.log(np.maximum(mean, SMALLEST_SQUARE))
    found: FloatArray = (count * local + PRIOR_ROWS * prior) / (count + PRIOR_ROWS)
    return found


def without(left_out: IntArray, distances: FloatArray, rows: IntArray, wanted: int) -> tuple[FloatArray, IntArray]:
    """The nearest rows of points without one row each.

    Parameters
    ----------
    left_out : ndarray of int64, shape (n_points,)
        Number of the row to leave out; it need not be among the nearest.
    distances, rows : ndarray, shape (n_points, k)
        Distances, ascending along each line, and numbers of the rows: one more than wanted, or all there are.
    wanted : int

    Returns
    -------
    distances, rows : ndarray, shape (n_points, min(wanted, k))
        Of a row that is left out of all there are, the distance is infinite.
    """
    distances = np.where(rows == left_out[:, None], np.inf, distances)
    order = np.argsort(distances, axis=1, kind="stable")[:, :wanted]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)


def nearness(distances: FloatArray) -> FloatArray:
    """Weights of rows by their distances to a point: 1 at the point, 0 from the farthest row on.

    Parameters
    ----------
    distances : ndarray, shape (n_points, k)
        Ascending along each line; infinite where a row does not count.

    Returns
    -------
    ndarray, shape (n_points, k)
        Continuous in the point; all of them above 0 where all rows are at one distance.
    """
    farthest = np.where(np.isfinite(distances), distances, 0.0).max(axis=1, keepdims=True)
    weights: FloatArray = np.clip(1 - np.square(distances / (farthest * WIDER + np.finfo(float).tiny)), 0.0, None)
    return weights


@dataclass(frozen=True)
class NeighbourhoodFactor:
    """Factor of one neighbourhood expert of r rows.

    Attributes
    ----------
    X : Tensor, shape (r, n_features)
        Standardised inputs: communication rows, neighbours from far to near, own rows.
    y : Tensor, shape (r,)
    rows : ndarray of int64, shape (r,)
        Their numbers.
    lower : Tensor, shape (r, r)
        Cholesky factor of their noisy covariance.
    solution : Tensor, shape (r,)
        a = A^-1 y.
    jitter : float
        Jitter the factor needed, as a share of the mean diagonal.
    noise : float or Tensor, shape (r,)
        Noise variance of the rows beside a covariance at the shared signal variance.
    local : LocalScales or None
        None where variances are neither calibrated nor the experts' own.
    """

    X: Tensor
    y: Tensor
    rows: IntArray
    lower: Tensor
    solution: Tensor
    jitter: float
    noise: float | Tensor
    local: LocalScales | None

    @property
    def n_bytes(self) -> float:
        """Bytes of its matrix."""
        return float(self.lower.numel() * self.lower.element_size())


@dataclass(frozen=True)
class LeafMoments:
    """What one expert says of some points, each of shape (n_points,).

    Attributes
    ----------
    mean : Tensor
    var_latent : Tensor
        Multiplied by the local scale.
    noise : Tensor
        Noise variance of an observation there, scaled alike, in units of the shared one.
    """

    mean: Tensor
    var_latent: Tensor
    noise: Tensor


def factor_neighbourhood(
    committee: Committee,
    scales: FloatArray,
    rows: IntArray,
    own: FloatArray | None,
    expert: int,
    n_middle: int,
    *,
    calibrated: bool,
    scratch: Scratch | None = None,
) -> NeighbourhoodFactor:
    """Factor one neighbourhood expert.

    Parameters
    ----------
    committee : Committee
    scales : ndarray, shape (n_features,)
        By which inputs are divided in the kernel's metric.
    rows : ndarray of int64, shape (r,)
        Row numbers in the committee: communication rows, neighbours from far to near, own rows.
    own : ndarray, shape (2, r), or None
        Where experts have variances of their own, signal variance of each row as a multiple of the shared one, and
        noise variance of each in units of the shared one and of that signal variance.
    expert : int
        The expert that the leaf is a part of, for messages.
    n_middle : int
        Rows in the middle: the last so many.
    calibrated : bool
        Whether variances are multiplied by how large the errors of the rows in the middle are.
    scratch : Scratch, optional
        Memory to use again for the covariance.

    Returns
    -------
    NeighbourhoodFactor

    Raises
    ------
    NotPositiveDefiniteError
        If the noisy covariance cannot be factored.
    """
    at = torch.from_numpy(rows).to(committee.X.device)
    X, y = committee.X[at].to(committee.kernel.dtype), committee.y[at].to(committee.kernel.dtype)
    noise = committee.noise_variance if own is None else committee.kernel.tensor(committee.noise_variance * own[1])
    noisy = committee.noisy_covariance(X, noise, scratch)
    lower, jitter = cholesky(noisy, f"noisy covariance around a leaf of expert {committee.number(expert)}")
    solution = solve_lower_transposed(lower, solve_lower(lower, y))
    factor = NeighbourhoodFactor(X, y, rows, lower, solution, jitter, noise, None)
    if own is None and not calibrated:
        return factor
    return replace(factor, local=_local_scales(factor, scales, n_middle, own, calibrated=calibrated))


def neighbourhood_mean(committee: Committee, factor: NeighbourhoodFactor, x: Tensor) -> Tensor:
    """Posterior mean alone, shape (n_points,): one product, no triangular solve."""
    dtype = factor.X.dtype
    return (committee.as_type(dtype).covariance(x.to(dtype), factor.X) @ factor.solution).to(x.dtype)


def neighbourhood_moments(
    committee: Committee, factor: NeighbourhoodFactor, x: Tensor, spread: FloatArray, scratch: Scratch | None = None
) -> LeafMoments:
    """Posterior mean, scaled latent variance and scaled noise of one expert at test points.

    Parameters
    ----------
    committee : Committee
    factor : NeighbourhoodFactor
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    spread : ndarray, shape (n_points, n_features)
        The same in the kernel's metric.
    scratch : Scratch, optional
        Memory to use again.

    Returns
    -------
    LeafMoments
    """
    dtype = factor.lower.dtype
    committee = committee.as_type(dtype)
    own = x.to(dtype)
    covariance = committee.covariance(own, factor.X, scratch)
    mean = covariance @ factor.solution
    prior = committee.prior_variance(own)
    variance = floor_variance(prior - row_sums_of_squares(whiten_rows(factor.lower, covariance)), prior)
    return _scaled(factor, mean, variance, spread, None, x.dtype)


def leave_one_out_moments(
    committee: Committee, factor: NeighbourhoodFactor, places: IntArray, spread: FloatArray
) -> LeafMoments:
    """What one expert says of some of its own rows, each predicted by all others.

    Row j has mean y_j - a_j / [A^-1]_jj and noisy variance 1 / [A^-1]_jj (Rasmussen and Williams, 2006, Eq. 5.12), with
    [A^-1]_jj the squared norm of L^-1 e_j: the work of a prediction.

    Parameters
    ----------
    committee : Committee
    factor : NeighbourhoodFactor
    places : ndarray of int64, shape (n,)
        Which of the factor's rows.
    spread : ndarray, shape (n, n_features)
        Their inputs in the kernel's metric.

    Returns
    -------
    LeafMoments
    """
    at = torch.from_numpy(places).to(factor.lower.device)
    units = torch.zeros(len(places), len(factor.lower), dtype=factor.lower.dtype, device=factor.lower.device)
    units[torch.arange(len(places), device=at.device), at] = 1.0
    precision = row_sums_of_squares(whiten_rows(factor.lower, units))
    mean = factor.y[at] - factor.solution[at] / precision
    prior = committee.as_type(factor.lower.dtype).prior_variance(factor.X[at])
    noise = factor.noise[at] if isinstance(factor.noise, Tensor) else factor.noise
    variance = floor_variance(1 / precision - noise, prior)
    left_out = None
    if factor.local is not None:
        left_out = np.maximum(places - (len(factor.rows) - factor.local.tree.n), -1)
    return _scaled(factor, mean, variance, spread, left_out, factor.lower.dtype)


def _scaled(
    factor: NeighbourhoodFactor,
    mean: Tensor,
    variance: Tensor,
    spread: FloatArray,
    left_out: IntArray | None,
    dtype: torch.dtype,
) -> LeafMoments:
    if factor.local is None:
        return LeafMoments(mean.to(dtype), variance.to(dtype), torch.ones_like(mean, dtype=dtype))
    scale, noise = (torch.from_numpy(values).to(variance) for values in factor.local.at(spread, left_out))
    return LeafMoments(mean.to(dtype), (scale * variance).to(dtype), (scale * noise).to(dtype))


def _local_scales(
    factor: NeighbourhoodFactor, scales: FloatArray, n_middle: int, own: FloatArray | None, *, calibrated: bool
) -> LocalScales:
    """Residuals of the rows in the middle, in units of their own signal variance, and their own variances."""
    tree = cKDTree(factor.X[-n_middle:].double().cpu().numpy() / scales)
    log_own = None if own is None else np.log(own[:, -n_middle:])
    if not calibrated:
        return LocalScales(tree, None, np.zeros(n_middle), log_own)
    precision = torch.cholesky_inverse(factor.lower[-n_middle:, -n_middle:]).diagonal()
    squares = (factor.solution[-n_middle:].square() / precision).double().cpu().numpy()
    if own is not None:
        squares = squares / own[0, -n_middle:]
    squares = _shared(tree.data, squares)
    return LocalScales(tree, squares, _log_wide(tree, squares), log_own)


def _shared(points: FloatArray, values: FloatArray) -> FloatArray:
    """Values at points, of equal points their mean."""
    _, place, count = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    mean: FloatArray = (np.bincount(place.ravel(), values) / count)[place.ravel()]
    return mean


def _log_wide(tree: cKDTree, squares: FloatArray) -> FloatArray:
    """Logarithm of the mean square in the wider surroundings of each row; of all rows where these are few."""
    if len(squares) <= 2 * WIDE:
        return np.repeat(log_mean_square(np.ones((1, len(squares))), squares[None], 0.0), len(squares))
    parts = []
    for points in np.array_split(tree.data, -(-len(squares) // WIDE)):
        distances, rows = tree.query(points, k=np.arange(1, WIDE + 2))
        parts.append(log_mean_square(nearness(distances), squares[rows], 0.0))
    return np.concatenate(parts)
