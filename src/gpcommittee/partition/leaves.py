"""Experts cut into leaves of neighbouring rows, along principal directions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gpcommittee.partition.sizes import balanced_offsets
from gpcommittee.partition.tree import cut_tree
from gpcommittee.records import FloatArray, IntArray


def cut_leaves(X: FloatArray, offsets: IntArray, leaf_size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Rows of experts, expert after expert, cut into leaves none of which holds rows of two experts.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Inputs in the metric in which rows of a leaf are to be near each other.
    offsets : ndarray of int64, shape (n_experts + 1,)
        Expert ``i`` holds rows ``offsets[i]`` to ``offsets[i + 1]``.
    leaf_size : int
        Most rows of a leaf; those of one expert differ by at most one.

    Returns
    -------
    order : ndarray of int64, shape (offsets[-1] - offsets[0],)
        Row numbers, leaf after leaf, ascending within each.
    bounds : ndarray of int64, shape (n_leaves + 1,)
        Leaf ``l`` holds ``order[bounds[l]:bounds[l + 1]]``.
    experts : ndarray of int64, shape (n_leaves,)
        The expert that each leaf is a part of.
    """
    order, bounds, experts = [], [np.zeros(1, dtype=np.int64)], []
    for expert, (start, stop) in enumerate(pairwise(offsets.tolist())):
        n_leaves = -(-(stop - start) // leaf_size)
        leaves = balanced_offsets(stop - start, n_leaves)
        order.append(cut_tree(X, np.arange(start, stop, dtype=np.int64), leaves))
        bounds.append(start - int(offsets[0]) + leaves[1:])
        experts.append(np.full(n_leaves, expert, dtype=np.int64))
    return np.concatenate(order), np.concatenate(bounds), np.concatenate(experts)
