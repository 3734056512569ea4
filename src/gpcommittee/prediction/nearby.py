"""Groups of nearby test points, and how few of them stand for a group.

Given the reference (the prior, or the communication rows) the function values at a group of nearby points are nearly
dependent. A pivoted Cholesky factorisation of their covariance R picks *pivots* P in an order in which the first k
explain the others best: f(x) = c(x)' xi + rest, xi = L_P^-1 f(P), with the rest's variance known at every point.
Harbrecht, Peters and Schneider (2012), "On the low-rank approximation by the pivoted Cholesky decomposition".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpcommittee.partition.split import lowest
from gpcommittee.records import FloatArray, IntArray


@dataclass(frozen=True)
class Basis:
    """Pivots of a group.

    Attributes
    ----------
    pivots : Tensor of int64, shape (k,)
        Their numbers in the group, the most telling first.
    coordinates : Tensor, shape (n_points, k)
        c(x); those of the pivots form the lower triangular L_P.
    """

    pivots: Tensor
    coordinates: Tensor

    def first(self, k: int) -> Basis:
        """The basis of the first ``k`` pivots."""
        return Basis(self.pivots[:k], self.coordinates[:, :k].contiguous())

    def weights(self, k: int) -> Tensor:
        """Weights of the values at the first ``k`` pivots in the value at each point, shape (n_points, k)."""
        coordinates = self.coordinates[:, :k]
        found: Tensor = torch.linalg.solve_triangular(
            coordinates[self.pivots[:k]], coordinates, upper=False, left=False
        )
        return found

    def rest(self, variance: Tensor) -> Tensor:
        """Variance left by the first 1, 2, ..., k pivots at every point, shape (n_points, k)."""
        left = variance[:, None] - self.coordinates.square().cumsum(dim=1)
        return left.clamp_min_(0.0)


def nearby_groups(X: FloatArray, size: int) -> list[IntArray]:
    """Row numbers of groups of nearby points, ascending in each; sizes differ by at most one.

    Parameters
    ----------
    X : ndarray, shape (n_points, n_features)
        Finite, in units in which distances matter alike.
    size : int
        Most points in a group.

    Returns
    -------
    list of ndarray of int64
    """
    n_groups = -(-len(X) // size)
    return _cut(np.ascontiguousarray(X), np.arange(len(X)), n_groups)


def _cut(X: FloatArray, rows: IntArray, n_groups: int) -> list[IntArray]:
    if n_groups < 2:
        return [rows] if len(rows) else []
    half = n_groups // 2
    low = lowest(X, rows, len(rows) * half // n_groups)
    return [*_cut(X, rows[low], half), *_cut(X, rows[~low], n_groups - half)]


def pivoted_basis(
    variance: Tensor, column: Callable[[int], Tensor], most: int, enough: float, start: Basis | None = None
) -> Basis:
    """Pivots in the order of the largest relative variance left.

    Parameters
    ----------
    variance : Tensor, shape (n_points,)
        Diagonal of R.
    column : callable
        Column of R of a point, shape (n_points,).
    most : int
        Most pivots.
    enough : float
        Stops when this share of its variance is the most left at any point.
    start : Basis, optional
        To be continued.

    Returns
    -------
    Basis
    """
    known = 0 if start is None else len(start.pivots)
    coordinates = variance.new_zeros((len(variance), max(known, min(most, len(variance)))))
    pivots: list[int] = []
    left = variance.clone()
    if start is not None:
        coordinates[:, :known] = start.coordinates
        pivots = start.pivots.tolist()
        left = (left - start.coordinates.square().sum(dim=1)).clamp_min_(0.0)
        left[pivots] = 0.0
    while len(pivots) < coordinates.shape[1]:
        relative = left / variance
        pivot = int(relative.argmax())
        if float(relative[pivot]) <= enough:
            break
        k = len(pivots)
        new = column(pivot) - coordinates[:, :k] @ coordinates[pivot, :k]
        new /= left[pivot].sqrt()
        new[pivots] = 0.0
        coordinates[:, k] = new
        pivots.append(pivot)
        left = (left - new.square()).clamp_min_(0.0)
        left[pivot] = 0.0
    return Basis(torch.tensor(pivots, dtype=torch.int64, device=variance.device), coordinates[:, : len(pivots)])
