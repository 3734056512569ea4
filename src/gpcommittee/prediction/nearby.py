"""Groups of nearby test points."""

from __future__ import annotations

import numpy as np

from gpcommittee.partition.split import lowest
from gpcommittee.records import FloatArray, IntArray


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
