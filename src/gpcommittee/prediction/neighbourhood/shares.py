"""Which experts are blended at a point, and with which weights.

Each of the nearest rows of a point votes for the leaf that it lies in, with a weight that falls to 0 at the farthest of
them. A share of the votes of the leaf that has most is taken off those of every leaf; what is left, scaled to a sum of
1, is its weight. So weights depend on the point alone and are continuous in it, few leaves have one, and a leaf has
none before none of the point's nearest rows lies in it: well inside the neighbourhood of its expert.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        As many as the point with most of them needs; -1 where there is none.
    weights : ndarray, shape (n_points, k)
        Of sum 1; 0 where there is no leaf.
    """

    leaves: IntArray
    weights: FloatArray


def shares_of(distances: FloatArray, leaves: IntArray, blend: float) -> Shares:
    """Experts and weights from the nearest rows of points.

    Parameters
    ----------
    distances : ndarray, shape (n_points, k)
        Ascending along each line; infinite where a row does not count.
    leaves : ndarray of int64, shape (n_points, k)
        Leaf of each of these rows.
    blend : float
        As in ``Neighbourhood``.

    Returns
    -------
    Shares

    Examples
    --------
    >>> shares_of(np.array([[0.0, 1.0, 2.0]]), np.array([[7, 3, 3]]), 0.7).leaves
    array([[7, 3]])
    """
    same = leaves[:, :, None] == leaves[:, None, :]
    votes = (same * nearness(distances)[:, None, :]).sum(axis=2)
    repeated = np.tril(same, -1).any(axis=2)
    votes[repeated | ~np.isfinite(distances)] = 0.0
    order = np.argsort(-votes, axis=1, kind="stable")
    votes, leaves = np.take_along_axis(votes, order, axis=1), np.take_along_axis(leaves, order, axis=1)
    weights = np.maximum(votes - (1 - blend) * votes[:, :1], 0.0)
    weights[weights[:, 0] <= 0, 0] = 1.0
    used = slice(0, max(1, int((weights > 0).sum(axis=1).max(initial=1))))
    weights, leaves = weights[:, used], leaves[:, used]
    return Shares(np.where(weights > 0, leaves, -1), weights / weights.sum(axis=1, keepdims=True))


def joined(parts: Sequence[Shares]) -> Shares:
    """Shares at the points of several, one after another; at least one."""
    width = max(part.leaves.shape[1] for part in parts)
    gaps = [((0, 0), (0, width - part.leaves.shape[1])) for part in parts]
    leaves = [np.pad(part.leaves, gap, constant_values=-1) for part, gap in zip(parts, gaps, strict=True)]
    weights = [np.pad(part.weights, gap) for part, gap in zip(parts, gaps, strict=True)]
    return Shares(np.concatenate(leaves), np.concatenate(weights))
