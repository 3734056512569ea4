"""Nearest rows in one order, by distance and then by number, whatever tree they are searched in.

A k-d tree takes any of the rows at the distance of the last one that is wanted. Where there are several, as on a grid
or among repeated rows, more rows are searched until a farther one is found, so that machines that search in parts of
the rows find the same ones.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from gpcommittee.records import FloatArray, IntArray

ALIKE = 1 + 1e-12
"""Ratio of distances up to which a tree may take the farther row for the nearer one."""

MOST_VALUES = 2**20
"""Distances that are held at a time."""


def nearest_rows(
    tree: cKDTree, numbers: IntArray, points: FloatArray, k: int, below: float = np.inf
) -> tuple[FloatArray, IntArray]:
    """The nearest rows of each point, of equals those with the lower numbers.

    Parameters
    ----------
    tree : scipy.spatial.cKDTree
        Of n_rows rows.
    numbers : ndarray of int64, shape (n_rows,)
        Their numbers.
    points : ndarray, shape (n_points, n_features)
    k : int
        At least 1; at most all rows are found.
    below : float, default=inf
        Distance from which rows do not count.

    Returns
    -------
    distances : ndarray, shape (n_points, min(k, n_rows))
        Ascending along each line; infinite where there is no row as near as that.
    found : ndarray of int64, shape (n_points, min(k, n_rows))
        Numbers of the rows; -1 where there is none.

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [-1.0], [1.0]])
    >>> nearest_rows(cKDTree(rows), np.array([7, 6, 5, 4]), np.zeros((1, 1)), 2)[1]
    array([[7, 4]])
    """
    k = min(k, tree.n)
    numbers = np.append(numbers, -1)
    distances, found = np.empty((len(points), k)), np.empty((len(points), k), dtype=np.int64)
    open_, wide = np.arange(len(points)), min(k + 1, tree.n)
    while len(open_) > 0:
        undecided = []
        for start in range(0, len(open_), max(1, MOST_VALUES // wide)):
            some = open_[start : start + max(1, MOST_VALUES // wide)]
            far, places = tree.query(points[some], k=np.arange(1, wide + 1), distance_upper_bound=below)
            rows = numbers[places]
            order = np.lexsort((rows, far))[:, :k]
            distances[some] = np.take_along_axis(far, order, axis=1)
            found[some] = np.take_along_axis(rows, order, axis=1)
            undecided.append(some[np.isfinite(far[:, -1]) & (far[:, -1] <= far[:, k - 1] * ALIKE)])
        open_ = np.concatenate(undecided) if wide < tree.n else open_[:0]
        wide = min(2 * wide, tree.n)
    return distances, found
