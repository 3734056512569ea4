"""An expert as it is seen from afar: a few of its rows stand for all, for points outside the box around them.

Given the reference (the prior, or the communication rows) let R be the covariance of points elsewhere with an expert's
m rows. From outside, R is of low rank however rough the kernel is: a QR factorisation with column pivoting picks p rows
Z with R = R_Z P' nearly (an interpolative decomposition). With L the Cholesky factor of the rows' own covariance and w
the whitened target, the variance that the expert takes away is |L^-1 P r_Z|^2 and the shift of its mean r_Z' P' L^-T w:
2 p m_c + 2 p^2 flops instead of 3 m^2. Points elsewhere that took no part in it say how far that is off, by distance,
and so does, at every point, the first half of its rows, which tells otherwise where that is like nothing that was seen.
Cheng, Gimbutas, Martinsson and Rokhlin (2005), "On the compression of low rank matrices".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from gpcommittee.experts import AugmentedFactor, Committee
from gpcommittee.linalg import row_sums_of_squares, subtract_product, whiten_rows
from gpcommittee.prediction.boxes import Boxes, distances
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.reference_view import ReferenceView
from gpcommittee.prediction.tolerance.by_distance import largest_beyond
from gpcommittee.records import FloatArray, IntArray

POINTS = 400
"""Points from which an expert is seen: half of them the nearest, the others at all distances."""

CHECKS = 3
"""Every so many of them only checks."""

FEWEST = 24
"""Points outside its box without which an expert is not compressed."""

FINEST = 3e-6
"""Share of the largest diagonal entry of the QR factorisation below which no more rows are taken."""

COARSEST = 0.02
"""The same share of the first row that is not taken, above which an expert is not compressed."""


@dataclass(frozen=True)
class Elsewhere:
    """Rows of the committee, as points from which experts are seen.

    Attributes
    ----------
    points : ReferenceView
    places : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    """

    points: ReferenceView
    places: FloatArray


@dataclass(frozen=True)
class Largest:
    """By distance, each of shape (N_STEPS,) for one expert or (n_experts, N_STEPS) for several.

    Attributes
    ----------
    gain : ndarray
        The largest gain in variance that was seen, or error of it, as a share of the reference's variance.
    shift : ndarray
        The largest shift of the mean, or error of it, in standard deviations of the reference.
    """

    gain: FloatArray
    shift: FloatArray


@dataclass(frozen=True)
class Compressed:
    """One expert.

    Attributes
    ----------
    rows : ndarray of int64, shape (p,)
        Numbers of the rows Z among the expert's.
    known : Largest
        What the expert itself was seen to say.
    map : Tensor, shape (p, p + 1)
        From r_Z to a vector whose square is what the expert takes away of the variance, and to the shift of its mean.
    half : Tensor, shape (h, h + 1)
        The same from the first h = ceil(p / 2) of the rows.
    errors : Largest
        How far the map was off.
    """

    rows: IntArray
    known: Largest
    map: Tensor
    half: Tensor
    errors: Largest


@dataclass(frozen=True)
class Outside:
    """Points outside an expert's box.

    Attributes
    ----------
    points : ReferenceView
    squares : ndarray, shape (n_points,)
        Squared distances to the box.
    deviation : Tensor, shape (n_points,)
        Standard deviations of the reference.
    """

    points: ReferenceView
    squares: FloatArray
    deviation: Tensor


def outside(elsewhere: Elsewhere, boxes: Boxes, expert: int) -> tuple[Outside, Outside]:
    """Points from which an expert is seen, and those that check what is seen."""
    squares = distances(boxes, np.array([expert]), elsewhere.places)[:, 0]
    order = np.argsort(squares, kind="stable")
    order = order[squares[order] > 0.0]
    nearest, others = np.split(order, [POINTS // 2])
    taken = np.concatenate([nearest, others[:: max(1, len(others) // (POINTS // 2))]])
    checks = np.arange(len(taken)) % CHECKS == 0
    return _at(elsewhere, squares, taken[~checks]), _at(elsewhere, squares, taken[checks])


def _at(elsewhere: Elsewhere, squares: FloatArray, numbers: IntArray) -> Outside:
    points = elsewhere.points.at(torch.from_numpy(numbers))
    return Outside(points, squares[numbers], points.reference.var_latent.sqrt())


def compress(committee: Committee, factor: Factor, seen: Outside, checks: Outside, most: int) -> Compressed | None:
    """Compress one expert.

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor or BaseFactor
        Of the expert.
    seen, checks : Outside
    most : int
        Most rows that may stand for it.

    Returns
    -------
    Compressed or None
        None where too little is outside its box, or so few rows cannot stand for all.
    """
    if len(checks.squares) < FEWEST // CHECKS:
        return None
    triangle, pivots = _pivoted(committee, factor, seen)
    rows = pivots[: min(most, rank(triangle))]
    if left_over(triangle, len(rows)) > COARSEST:
        return None
    map_ = _map(factor, triangle, pivots, len(rows))
    residual = residual_covariance(committee, factor, checks.points)
    told = residual[:, torch.from_numpy(rows)] @ map_
    whitened = whiten_rows(factor.lower, residual)
    gain, shift = row_sums_of_squares(whitened), whitened @ factor.weights
    errors = _largest(checks, row_sums_of_squares(told[:, :-1]) - gain, told[:, -1] - shift)
    return Compressed(rows, _largest(checks, gain, shift), map_, _half(map_, triangle), errors)


def _map(factor: Factor, triangle: FloatArray, pivots: IntArray, p: int) -> Tensor:
    """From the covariance with the first p pivots to what the expert says."""
    weights = np.empty((len(pivots), p))
    weights[pivots] = _interpolation(triangle, p)
    whitened = torch.linalg.solve_triangular(factor.lower, torch.from_numpy(weights), upper=False)
    return torch.cat([_root(whitened.mT), (whitened.mT @ factor.weights)[:, None]], dim=1)


def _half(map_: Tensor, triangle: FloatArray) -> Tensor:
    """The same map from the first half of its rows: the others follow from these by the same factorisation."""
    p = len(map_)
    told = torch.from_numpy(_interpolation(triangle[:, :p], half_of(p))).mT @ map_
    return torch.cat([_root(told[:, :-1]), told[:, -1:]], dim=1)


def half_of(p: int) -> int:
    """How many rows are half of p."""
    return -(-p // 2)


def _interpolation(triangle: FloatArray, p: int) -> FloatArray:
    """Weights of its first p columns by which all columns of a pivoted triangle follow, shape (n_columns, p)."""
    weights = np.eye(triangle.shape[1], p)
    if 0 < p < len(weights):
        weights[p:] = scipy.linalg.solve_triangular(triangle[:p, :p], triangle[:p, p:]).T
    return weights


def _root(wide: Tensor) -> Tensor:
    """Square matrix with the same product with its own transpose."""
    triangle: Tensor = torch.linalg.qr(wide.mT, mode="r").R
    return triangle.mT


def _largest(checks: Outside, gain: Tensor, shift: Tensor) -> Largest:
    """The largest gains and shifts, or errors of these, at some points."""
    shares = (gain / checks.deviation.square()).abs(), (shift / checks.deviation).abs()
    return Largest(*(largest_beyond(share.numpy(), checks.squares) for share in shares))


def rank(triangle: FloatArray) -> int:
    """Rows that stand for the others to ``FINEST``: none where nothing is seen, or what has no square."""
    diagonal = np.abs(np.diag(triangle))
    return int((diagonal > max(FINEST * diagonal[0], np.finfo(np.float64).tiny ** 0.5)).sum())


def left_over(triangle: FloatArray, p: int) -> float:
    """Share of the largest diagonal entry that the first row has which is not among p."""
    diagonal = np.abs(np.diag(triangle))
    return float(diagonal[p] / diagonal[0]) if 0 < p < len(diagonal) else 0.0


def numerical_rank(committee: Committee, factor: Factor, seen: Outside) -> int:
    """Rows that it takes to stand for an expert to ``FINEST``."""
    return rank(_pivoted(committee, factor, seen)[0])


def _pivoted(committee: Committee, factor: Factor, seen: Outside) -> tuple[FloatArray, IntArray]:
    """Triangle and order of the columns of a QR factorisation of what the points see."""
    residual = (residual_covariance(committee, factor, seen.points) / seen.deviation[:, None]).numpy()
    triangle, pivots = scipy.linalg.qr(residual, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    return triangle, pivots.astype(np.int64)


def residual_covariance(committee: Committee, factor: Factor, at: ReferenceView) -> Tensor:
    """Covariance of points with an expert's rows given the reference, shape (n_points, m)."""
    covariance = committee.covariance(at.x, factor.X)
    if isinstance(factor, AugmentedFactor):
        return subtract_product(covariance, at.projection.whitened, factor.coupling.mT)
    return covariance
