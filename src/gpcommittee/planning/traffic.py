"""Tasks on a Dask cluster and the bytes that they move, counted as the code has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.aggregation import Neighbourhood
from gpcommittee.distributed import BATCH_POINTS
from gpcommittee.distributed.divide import MOST_EXACT_SHARDS, SAMPLE_ROWS, SAMPLE_ROWS_PER_SHARD
from gpcommittee.distributed.parquet import MOST_PARTS, PART_ROWS
from gpcommittee.partition.routing import group_bounds
from gpcommittee.planning.case import Case
from gpcommittee.planning.leaf_traffic import DOUBLE, leaf_batch, row_bytes, rows_around
from gpcommittee.prediction.factors import EXPERT_BLOCK
from gpcommittee.records import IntArray

EVALUATION_TASKS = 256
"""Tasks among which the experts of an evaluation are divided, about."""

FAN_IN = 8
"""Sums that are merged at a time."""

SUM_VALUES = 7
"""Numbers per test point in a sum: precision, shift and dispersion, and the term of the most certain expert."""

MESSAGE_BYTES = 4_000
"""Of a task to its worker and of its small result back, by way of the scheduler; an estimate."""


@dataclass(frozen=True)
class Traffic:
    """Tasks and bytes.

    Attributes
    ----------
    n_parts, n_shards : int
        Partitions that the rows come in, of the usual size, and shards.
    shuffle_tasks : int
        Pieces of partitions by shard.
    shuffle_bytes : float
        Rows that go to another worker in one division.
    sample_bytes : float
        Rows that come to the client, which say where to split.
    halo_bytes : float
        Rows that go once to the neighbourhood experts of other workers, at most.
    batch_points : int
        Test points of a batch.
    batch_tasks : int
        Tasks of a batch of test points.
    batch_bytes : float
        Points that go to the workers, and sums or answers that go between them, of one batch.
    """

    n_parts: int
    n_shards: int
    shuffle_tasks: int
    shuffle_bytes: float
    sample_bytes: float
    halo_bytes: float
    batch_points: int
    batch_tasks: int
    batch_bytes: float


def traffic(case: Case, n_workers: int) -> Traffic:
    """What rows and predictions move among so many workers."""
    n_rows, n_others = int(case.sizes.sum()), len(case.sizes) - 1
    exact = n_rows - case.sizes[0] <= SAMPLE_ROWS
    bounds = group_bounds(n_others, 1, MOST_EXACT_SHARDS) if exact else group_bounds(n_others)
    n_shards = len(bounds) - 1 if n_others else 0
    n_parts = min(MOST_PARTS, -(-n_rows // PART_ROWS))
    sampled = min(n_rows, max(SAMPLE_ROWS, SAMPLE_ROWS_PER_SHARD * n_shards))
    elsewhere = 1 - 1 / n_workers
    by_leaves = isinstance(case.rule, Neighbourhood)
    batch = leaf_batch(case, n_shards, n_workers) if by_leaves else _sums_batch(case, bounds, n_workers)
    n_points, n_tasks, n_bytes = batch
    return Traffic(
        n_parts=n_parts,
        n_shards=n_shards,
        shuffle_tasks=n_parts * n_shards,
        shuffle_bytes=elsewhere * row_bytes(case),
        sample_bytes=float(sampled * case.n_features * DOUBLE),
        halo_bytes=elsewhere * row_bytes(case) * rows_around(case, n_shards) / n_rows if by_leaves else 0.0,
        batch_points=n_points,
        batch_tasks=n_tasks,
        batch_bytes=n_bytes,
    )


def _sums_batch(case: Case, bounds: IntArray, n_workers: int) -> tuple[int, int, float]:
    """Points, tasks and bytes of a batch of a rule that sums experts."""
    units = int((-(-np.diff(bounds) // EXPERT_BLOCK)).sum())
    merges = -(-units // (FAN_IN - 1))
    points = min(n_workers, 1 + units) * BATCH_POINTS * case.n_features * DOUBLE
    sums = (1 - 1 / n_workers) * (units + merges) * BATCH_POINTS * SUM_VALUES * case.itemsize
    return BATCH_POINTS, 1 + units + merges, points + sums


def evaluation_tasks(n_experts: int, n_shards: int) -> int:
    """Tasks of one evaluation on so many experts of the committee, spread over its shards.

    Examples
    --------
    >>> [evaluation_tasks(n_experts, 256) for n_experts in (4, 64, 261, 2_000_000)]
    [4, 64, 257, 257]
    """
    if n_experts <= max(EVALUATION_TASKS, n_shards):
        return min(n_experts, 1 + max(n_shards, n_experts - 1))
    of_task = -(-n_experts // EVALUATION_TASKS)
    of_shard = -(-(n_experts - 1) // max(n_shards, 1))
    return 1 + max(n_shards, 1) * -(-of_shard // of_task)


def evaluation_bytes(n_tasks: int, n_parameters: int) -> float:
    """Messages of one evaluation: parameters go out, and a value and a gradient come back; rows do not move."""
    return float(n_tasks * (MESSAGE_BYTES + 2 * DOUBLE * (n_parameters + 2)))
