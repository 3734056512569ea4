"""One cut of a set of rows at a rank along its principal direction; the tree and the repair of k-means use it.

The cut depends on the numbers in `X` alone. Rows are selected by (projection, row number), so ties fall the same way
everywhere; the direction is rounded, so the last digits of a matrix product do not matter; and where an input axis
carries the largest variance as well as the principal direction does, the axis is taken, so equal variances have one
answer.

References
----------
Verma, Kpotufe and Dasgupta (2009), Which spatial partition trees are adaptive to intrinsic dimension?, UAI
("principal direction trees").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpcommittee.records import FloatArray, IntArray

BLOCK_VALUES = 2**17
"""Values per block of rows, 1 MB: it stays in cache, and bounds the copy of X."""

AXIS_TOLERANCE = 1e-6
"""An input axis is preferred if its variance is this close to the largest, relative to it."""

DIRECTION_DECIMALS = 6


def lowest(X: FloatArray, rows: IntArray, rank: int) -> NDArray[np.bool_]:
    """Mark the `rank` rows that come first along the principal direction of `rows`.

    Time O(n d^2 + d^3) for n rows of d features, memory O(n).

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        In C order: taking rows from another order copies all of it.
    rows : ndarray of int64, shape (n,)
        Row numbers, ascending.
    rank : int
        From 1 to n - 1.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for exactly `rank` rows; of equal projections, the smaller row number counts as lower.
    """
    projection = _project(X, rows, _principal_direction(_scatter(X, rows)), X[rows[0]])
    below, ties, _ = _below(projection, rank)
    below[ties] = True
    return below


@dataclass(frozen=True)
class Split:
    """A cut found on some rows, with which any others can be compared.

    Attributes
    ----------
    direction : ndarray, shape (n_features,)
    origin : ndarray, shape (n_features,)
        From which coordinates along the direction are counted.
    threshold : float
        Coordinate of the last row below the cut.
    last_tie : int
        Number of that row: of the rows with its coordinate, those with a number up to it are below the cut.
    """

    direction: FloatArray
    origin: FloatArray
    threshold: float
    last_tie: int

    def is_low(self, X: FloatArray, numbers: IntArray) -> NDArray[np.bool_]:
        """Which rows are below the cut, shape (n,).

        Parameters
        ----------
        X : ndarray, shape (n, n_features)
        numbers : ndarray of int64, shape (n,)
            Row numbers in the data of which these rows are a part.
        """
        if len(X) == 0:
            return np.zeros(0, dtype=bool)
        projection = _project(X, np.arange(len(X)), self.direction, self.origin)
        low: NDArray[np.bool_] = projection < self.threshold
        low |= (projection == self.threshold) & (numbers <= self.last_tie)
        return low


def find_split(X: FloatArray, rows: IntArray, rank: int, numbers: IntArray) -> Split:
    """The cut that `lowest` makes, for use on other rows.

    Parameters
    ----------
    X, rows, rank
        As in `lowest`.
    numbers : ndarray of int64, shape (n_rows,)
        Number of each row of `X` in the data of which it is a part, ascending.

    Returns
    -------
    Split
    """
    direction, origin = _principal_direction(_scatter(X, rows)), X[rows[0]]
    _, ties, threshold = _below(_project(X, rows, direction, origin), rank)
    return Split(direction, origin, threshold, int(numbers[rows[ties[-1]]]))


def _below(projection: FloatArray, rank: int) -> tuple[NDArray[np.bool_], IntArray, float]:
    """Which are strictly below the threshold, the places of those at it that complete the rank, and the threshold."""
    threshold = np.partition(projection, rank - 1)[rank - 1]
    below: NDArray[np.bool_] = projection < threshold
    ties = np.flatnonzero(projection == threshold)
    return below, ties[: rank - np.count_nonzero(below)], float(threshold)


def _blocks(X: FloatArray, rows: IntArray, origin: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Rows relative to an origin, block by block: a common offset cancels, a constant column becomes 0."""
    step = max(1, BLOCK_VALUES // X.shape[1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        values = X.take(rows[block], axis=0)
        values -= origin
        yield block, values


def _scatter(X: FloatArray, rows: IntArray) -> FloatArray:
    """Centred sum of squares and products, shape (d, d), in one pass.

    The origin is one of the rows, so its squared distance to the mean is at most the sum over all rows: the
    subtraction loses a factor n of relative accuracy at worst, which leaves 1e-8 for 10^8 rows.
    """
    total, products = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    for _, block in _blocks(X, rows, X[rows[0]]):
        total += np.ones(len(block)) @ block
        products += block.T @ block
    return products - np.outer(total, total / len(rows))


def _principal_direction(scatter: FloatArray) -> FloatArray:
    """Direction of the largest variance, its largest component positive, shape (d,)."""
    values, vectors = np.linalg.eigh(scatter)
    axes = np.flatnonzero(np.diag(scatter) >= (1 - AXIS_TOLERANCE) * values[-1])
    direction: FloatArray = vectors[:, -1].round(DIRECTION_DECIMALS)
    if len(axes) > 0:
        direction = np.zeros(len(scatter))
        direction[axes[0]] = 1.0
    return -direction if direction[np.abs(direction).argmax()] < 0 else direction


def _project(X: FloatArray, rows: IntArray, direction: FloatArray, origin: FloatArray) -> FloatArray:
    """Coordinate along `direction`, summed in column order so that equal rows get equal values, shape (n,)."""
    columns = np.flatnonzero(direction)
    if len(columns) == 1:
        column_values: FloatArray = X[rows, columns[0]]
        return column_values
    projection = np.zeros(len(rows))
    for block, values in _blocks(X, rows, origin):
        for column in columns:
            projection[block] += direction[column] * values[:, column]
    return projection
