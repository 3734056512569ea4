"""Rows that stand for a set of rows: pivots of a Cholesky factorisation of their covariance.

Harbrecht, Peters and Schneider (2012), "On the low-rank approximation by the pivoted Cholesky decomposition".
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor


def pivots(variance: Tensor, column: Callable[[int], Tensor], size: int) -> list[int]:
    """Rows in the order of the largest relative variance that those before leave; fewer where nothing is left.

    Parameters
    ----------
    variance : Tensor, shape (n_rows,)
        Diagonal of the covariance.
    column : callable
        Column of the covariance of a row, shape (n_rows,).
    size : int
    """
    coordinates = variance.new_zeros((len(variance), min(size, len(variance))))
    found: list[int] = []
    left = variance.clone()
    while len(found) < coordinates.shape[1]:
        relative = left / variance
        pivot = int(relative.argmax())
        if float(relative[pivot]) <= 0.0:
            break
        k = len(found)
        new = column(pivot) - coordinates[:, :k] @ coordinates[pivot, :k]
        new /= left[pivot].sqrt()
        new[found] = 0.0
        coordinates[:, k] = new
        found.append(pivot)
        left = (left - new.square()).clamp_min_(0.0)
        left[pivot] = 0.0
    return found
