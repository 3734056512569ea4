"""Random partition: every expert sees the whole domain, coarsely.

References
----------
Liu, Cai, Wang and Ong (2018), Generalized Robust Bayesian Committee Machine, section 2.1 ("random partition").
"""

from __future__ import annotations

import numpy as np

from gpcommittee.partition.communication import draw_communication
from gpcommittee.partition.labels import group_rows
from gpcommittee.partition.sizes import PartitionSizes, balanced_offsets
from gpcommittee.records import FloatArray, Partition


def random_partition(X: FloatArray, sizes: PartitionSizes, seed: int) -> Partition:
    """Assign rows to experts at random, without replacement; no row is dropped.

    Sizes, the communication set's aside, differ by at most one. Time O(n log n), memory O(n).

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Inputs; only their number matters.
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
    shuffled = np.random.default_rng(draw.stream).permutation(draw.rest)
    n_others = sizes.n_experts - 1
    labels = np.zeros(len(X), dtype=np.int64)
    labels[shuffled] = np.repeat(np.arange(1, n_others + 1), np.diff(balanced_offsets(len(shuffled), n_others)))
    return group_rows(labels)
