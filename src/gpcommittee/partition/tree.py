"""Balanced disjoint partition: neighbouring rows share an expert, and all experts are equally large.

A tree halves the number of leaves at each node and cuts the node's rows at the proportional rank along their principal
direction, so any number of leaves ends with sizes that differ by at most one.

References
----------
Liu, Cai, Wang and Ong (2018), Generalized Robust Bayesian Committee Machine, sections 2.1 ("disjoint partition") and
4.1 (the random communication subset first).
Verma, Kpotufe and Dasgupta (2009), Which spatial partition trees are adaptive to intrinsic dimension?, UAI.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from gpcommittee.partition.communication import draw_communication
from gpcommittee.partition.sizes import PartitionSizes, balanced_offsets
from gpcommittee.partition.split import lowest
from gpcommittee.records import FloatArray, IntArray, Partition


def tree_partition(X: FloatArray, sizes: PartitionSizes, seed: int) -> Partition:
    """Draw the communication set at random and cut the rest along principal directions.

    Sizes, the communication set's aside, differ by at most one. Time O(n d^2 log M + M d^3) for n rows of d features
    and M experts; memory O(n) besides `X`, which is
    copied only if it is not in C order. Beyond the communication set nothing is random.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs.
    sizes : PartitionSizes
    seed : int

    Returns
    -------
    Partition
        Rows ascend within each expert.

    Raises
    ------
    InvalidInputError
        If `X` is not a matrix of finite numbers.
    InvalidParameterError
        If `sizes` does not fit `X` or `seed` is negative.
    """
    draw = draw_communication(X, sizes, seed)
    offsets = balanced_offsets(len(draw.rest), sizes.n_experts - 1)
    order = cut_tree(X, draw.rest, offsets)
    return Partition(
        order=np.concatenate([draw.communication, order]),
        offsets=np.concatenate([[0], sizes.communication_size + offsets]),
    )


def cut_tree(X: FloatArray, rows: IntArray, offsets: IntArray) -> IntArray:
    """Rows leaf after leaf, ascending within each; `offsets`, from 0 to their number, are the leaf boundaries."""
    with threadpool_limits(limits=1, user_api="blas"):
        return _cut(np.ascontiguousarray(X), rows, offsets)


def _cut(X: FloatArray, rows: IntArray, offsets: IntArray) -> IntArray:
    """Rows leaf after leaf; `offsets` are the leaf boundaries counted from the node's first row."""
    n_leaves = len(offsets) - 1
    if n_leaves < 2:
        return rows
    middle = n_leaves // 2
    rank = offsets[middle] - offsets[0]
    low = lowest(X, rows, rank)
    return np.concatenate([_cut(X, rows[low], offsets[: middle + 1]), _cut(X, rows[~low], offsets[middle:])])
