"""Which experts are blended at a point, and with which weights.

Each of the nearest rows of a point votes for the leaf that it lies in, with a weight that falls to 0 at the farthest of
them. The votes of the leaf in place K + 1 are taken off those of the first K, and the rest is scaled to a sum of 1. So
weights depend on the point alone, are continuous in it, and a leaf has none before it leaves the first K or before none
of the point's nearest rows lies in it: well inside the neighbourhood of its expert.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.experts.neighbourhood import nearness
from gpcommittee.records import FloatArray, IntArray

VOTERS = 16
"""Nearest rows that vote."""


@dataclass(frozen=True)
class Shares:
    """Experts blended at some points, in falling order of their weights.

    Attributes
    ----------
    leaves : ndarray of int64, shape (n_points, k)
        At most as many as are blended; -1 where there is none.
    weights : ndarray, shape (n_points, k)
        Of sum 1; 0 where there is no leaf.
    """

    leaves: IntArray
    weights: FloatArray


def shares_of(distances: FloatArray, leaves: IntArray, blend: int) -> Shares:
    """Experts and weights from the nearest rows of points.

    Parameters
    ----------
    distances : ndarray, shape (n_points, k)
        Ascending along each line; infinite where a row does not count.
    leaves : ndarray of int64, shape (n_points, k)
        Leaf of each of these rows.
    blend : int
        Most experts at a point.

    Returns
    -------
    Shares

    Examples
    --------
    >>> shares_of(np.array([[0.0, 1.0, 2.0]]), np.array([[7, 3, 3]]), 2).leaves
    array([[7, 3]])
    """
    same = leaves[:, :, None] == leaves[:, None, :]
    votes = (same * nearness(distances)[:, None, :]).sum(axis=2)
    repeated = np.tril(same, -1).any(axis=2)
    votes[repeated | ~np.isfinite(distances)] = 0.0
    order = np.argsort(-votes, axis=1, kind="stable")
    votes, leaves = np.take_along_axis(votes, order, axis=1), np.take_along_axis(leaves, order, axis=1)
    following = votes[:, blend : blend + 1] if votes.shape[1] > blend else 0.0
    weights = np.maximum(votes[:, :blend] - following, 0.0)
    weights[weights.sum(axis=1) <= 0, 0] = 1.0
    return Shares(np.where(weights > 0, leaves[:, :blend], -1), weights / weights.sum(axis=1, keepdims=True))
