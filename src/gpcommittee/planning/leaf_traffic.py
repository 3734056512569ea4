"""Tasks and bytes of neighbourhood experts on a cluster: leaves stay with their shards, points go there.

A shard is sent once the rows around its leaves. A batch of points is searched in the shards where they lie and then in
those near by, and every shard answers for the points that ask its experts.
"""

from __future__ import annotations

from gpcommittee.cluster.neighbourhood import MANY_POINTS, POINTS_TOGETHER
from gpcommittee.planning.case import Case
from gpcommittee.planning.neighbourhood import MOST_ASKED, leaf_bytes, leaf_sizes, leaf_worker_bytes
from gpcommittee.prediction.neighbourhood.shares import VOTERS

DOUBLE = 8

SEARCHES = 2
"""Searches of a point, at home and beyond."""

NEAR_VALUES = 4
"""Numbers for each row that a search finds."""

HELD_VALUES = 3
"""Copies of a row's inputs on a worker: standardised, in the kernel's metric, and in the search tree."""

HELD_INDICES = 8
"""Other numbers of a row there."""


def row_bytes(case: Case) -> float:
    """Inputs and target of all rows, once."""
    return float(case.sizes.sum() * (case.n_features + 1) * DOUBLE)


def rows_around(case: Case, n_shards: int) -> float:
    """Rows that shards are sent for the experts of their leaves, at most: as if none lay in the shard itself.

    All rows, on one worker, where an expert holds them all.
    """
    leaves, n_rows = leaf_sizes(case), float(case.sizes.sum())
    if leaves.n_leaves == 1:
        return n_rows
    return min(float(leaves.n_leaves * (leaves.n_rows - leaves.leaf_size)), max(0, n_shards - 1) * n_rows)


def leaf_batch(case: Case, n_shards: int, n_workers: int) -> tuple[int, int, float]:
    """Points, tasks and bytes of a batch."""
    leaves, elsewhere = leaf_sizes(case), 1 - 1 / n_workers
    if leaves.n_leaves == 1:
        return POINTS_TOGETHER, 1, float(POINTS_TOGETHER * case.n_features * DOUBLE)
    n_holders = min(n_workers, n_shards)
    to_all = n_holders * (2 * case.n_features + 2 * MOST_ASKED + 1)
    near = elsewhere * SEARCHES * (VOTERS + 1) * NEAR_VALUES
    told = elsewhere * leaves.asked * (3 * MOST_ASKED + 1)
    return MANY_POINTS, 3 * n_shards + 4, MANY_POINTS * DOUBLE * (to_all + near + told)


def leaf_held_bytes(case: Case, n_shards: int, n_workers: int) -> float:
    """Bytes of a worker's leaves and the rows around them, evenly spread, while a batch is predicted.

    Factors that it keeps beside them, within a quarter of its memory, are not counted.
    """
    leaves, n_rows = leaf_sizes(case), float(case.sizes.sum())
    row = DOUBLE * (HELD_VALUES * case.n_features + HELD_INDICES)
    made = leaf_bytes(case) + leaf_worker_bytes(case, 3, kept=True)
    if leaves.n_leaves == 1:
        return n_rows * row + made
    values = 2 * case.n_features + 5 * MOST_ASKED + SEARCHES * (VOTERS + 1) * NEAR_VALUES
    points = MANY_POINTS * DOUBLE * values
    return (n_rows + rows_around(case, n_shards)) * row / n_workers + made + points
