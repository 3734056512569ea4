"""A committee's rows on the workers of a cluster: who holds which experts, and how arrays get there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.cluster.tasks import Cluster, large_tasks
from gpcommittee.distributed import PlacedRows
from gpcommittee.distributed.cluster import free_to_move, worker_slots
from gpcommittee.records import FloatArray, IntArray, Partition, Shard, Standardisation

if TYPE_CHECKING:
    from distributed import Future

LEAST_WORK = 1e9
"""Sum of the cubes of the rows of a task's experts: a tenth of a second or two, against milliseconds to hand it out."""

MOST_TOGETHER = 16
"""Experts up to which that counts."""

MOST_TASKS = 256
"""Shards of arrays, and tasks of an evaluation: so many numbers come back to the client, however many rows there are.
They depend on the experts alone, so that sums are grouped alike whatever the workers are."""


DIGESTS = 2**128
"""How many digests of rows there are."""


@dataclass(frozen=True)
class Held:
    """What a shard holds.

    Attributes
    ----------
    first_expert, n_experts : int
    digest : int
        Sum of those of its experts.
    """

    first_expert: int
    n_experts: int
    digest: int


@dataclass(frozen=True)
class Unit:
    """Consecutive experts of a shard that one task takes.

    Attributes
    ----------
    shard : distributed.Future of Shard
    first, stop : int
        Its experts, counted from 0 in the shard.
    about : str
        Their numbers, for messages.
    """

    shard: Future[Any]
    first: int
    stop: int
    about: str


@dataclass(frozen=True)
class ShardedRows:
    """Rows of a committee on a cluster, pinned as long as this record lives.

    Attributes
    ----------
    cluster : Cluster
    placed : PlacedRows
    held : tuple of Held
        What each shard holds.
    """

    cluster: Cluster
    placed: PlacedRows
    held: tuple[Held, ...]

    @classmethod
    def of(cls, cluster: Cluster, placed: PlacedRows) -> ShardedRows:
        """Ask every shard what it holds.

        Raises
        ------
        WorkerError
            If a shard cannot be made.
        """
        asked = [cluster.submit("describe", "a shard", _describe, shard) for shard in placed.shards]
        return cls(cluster, placed, tuple(cluster.results(asked)))

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        return len(self.placed.sizes)

    @property
    def offsets(self) -> IntArray:
        """Rows where experts begin, and the number of rows, shape (n_experts + 1,)."""
        return np.concatenate([[0], np.cumsum(self.placed.sizes)]).astype(np.int64)

    @cached_property
    def communication(self) -> Future[Any]:
        """Inputs and target of the communication set, on the cluster."""
        with large_tasks():
            return self.cluster.keep("communication", (self.placed.communication_X, self.placed.communication_y))

    @cached_property
    def firsts(self) -> IntArray:
        """Number of each shard's first expert, and the number of experts at the end."""
        return np.array([*(held.first_expert for held in self.held), self.n_experts], dtype=np.int64)

    @cached_property
    def neighbourhoods(self) -> dict[str, Any]:
        """Neighbourhood experts that are ready on the cluster, by what they depend on beside these rows."""
        return {}

    def units(self, most: int) -> Iterator[Unit]:
        """All experts but the communication expert, at most so many at a time, in their order."""
        for shard, held in zip(self.placed.shards, self.held, strict=True):
            for first in range(0, held.n_experts, most):
                stop = min(first + most, held.n_experts)
                yield Unit(shard, first, stop, experts_text(held.first_expert + first, held.first_expert + stop - 1))


def with_communication(rows: ShardedRows, kept: IntArray) -> ShardedRows:
    """The same experts with some rows of the communication set.

    Parameters
    ----------
    rows : ShardedRows
    kept : ndarray of int64
        Numbers of those rows.
    """
    placed = rows.placed
    X, y = placed.communication_X[kept], placed.communication_y[kept]
    sizes = np.concatenate([[len(kept)], placed.sizes[1:]])
    return replace(rows, placed=replace(placed, communication_X=X, communication_y=y, sizes=sizes))


def experts_text(first: int, last: int) -> str:
    """Numbers of consecutive experts, for messages."""
    return f"expert {first}" if first == last else f"experts {first} to {last}"


def scatter(
    cluster: Cluster, X: FloatArray, y: FloatArray, partition: Partition, scaling: Standardisation
) -> ShardedRows:
    """Send standardised rows of this process to the workers.

    The rows are part of the tasks that make the shards, so that a shard whose worker is lost is made again. The
    scheduler holds them for that.

    Parameters
    ----------
    cluster : Cluster
    X : ndarray, shape (n_rows, n_features)
    y : ndarray, shape (n_rows,)
    partition : Partition
    scaling : Standardisation

    Returns
    -------
    ShardedRows
    """
    slots = worker_slots(cluster.client)
    shards, held = [], []
    with large_tasks():
        for number, experts in enumerate(shard_experts(partition.sizes)):
            shard = take_shard(X, y, partition, experts)
            near = slots[number % len(slots)] if slots else None
            about = experts_text(experts.start, experts.stop - 1)
            shards.append(
                cluster.submit("shard", about, Shard, shard.X, shard.y, shard.offsets, experts.start, near=near)
            )
            held.append(_describe(shard))
    free_to_move(cluster.client, shards)
    rows = partition.rows(0)
    placed = PlacedRows(X[rows], y[rows], tuple(shards), partition.sizes, scaling)
    return ShardedRows(cluster, placed, tuple(held))


def experts_together(sizes: IntArray) -> int:
    """Experts that are worth a task.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_experts,)
        Rows of each expert, the communication expert first.

    Examples
    --------
    >>> [experts_together(np.full(n, m)) for n, m in ((20, 1000), (200, 500), (10_000, 500), (20, 50))]
    [1, 8, 40, 16]
    """
    others = sizes[1:].astype(np.float64)
    if len(others) == 0:
        return 1
    worth = min(MOST_TOGETHER, math.ceil(LEAST_WORK / np.mean(others**3)))
    return max(worth, math.ceil(len(others) / MOST_TASKS))


def shard_experts(sizes: IntArray) -> list[range]:
    """Experts of every shard, the communication expert left out.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_experts,)
        Rows of each expert.

    Examples
    --------
    >>> shard_experts(np.full(4, 1000))
    [range(1, 2), range(2, 3), range(3, 4)]
    """
    n_experts, size = len(sizes), experts_together(sizes)
    return [range(start, min(start + size, n_experts)) for start in range(1, n_experts, size)]


def take_shard(X: FloatArray, y: FloatArray, partition: Partition, experts: range) -> Shard:
    """Rows of consecutive experts, copied.

    Parameters
    ----------
    X, y : ndarray
        All rows, standardised.
    partition : Partition
    experts : range
    """
    offsets = partition.offsets[experts.start : experts.stop + 1]
    rows = partition.order[offsets[0] : offsets[-1]]
    return Shard(X[rows], y[rows], offsets - offsets[0], experts.start)


def gather(sharded: ShardedRows) -> tuple[FloatArray, FloatArray]:
    """All rows in this process, expert after expert.

    Parameters
    ----------
    sharded : ShardedRows

    Returns
    -------
    X : ndarray, shape (n_rows, n_features)
    y : ndarray, shape (n_rows,)
    """
    placed = sharded.placed
    X = np.empty((int(placed.sizes.sum()), placed.communication_X.shape[1]))
    y = np.empty(len(X))
    first = len(placed.communication_y)
    X[:first], y[:first] = placed.communication_X, placed.communication_y
    for future in placed.shards:
        shard = sharded.cluster.result(future)
        stop = first + len(shard.y)
        X[first:stop], y[first:stop] = shard.X, shard.y
        first = stop
    return X, y


def _describe(shard: Shard) -> Held:
    total = 0
    for number, (start, stop) in enumerate(pairwise(shard.offsets.tolist()), shard.first_expert):
        digest = hashlib.blake2b(f"{number} {stop - start}".encode("ascii"), digest_size=16)
        for array in (shard.X[start:stop], shard.y[start:stop]):
            digest.update(np.ascontiguousarray(array).data)
        total += int.from_bytes(digest.digest(), "big")
    return Held(shard.first_expert, shard.n_experts, total % DIGESTS)


def digests(held: Sequence[Held]) -> FloatArray:
    """What tells the experts of all shards from any others, however they are grouped, as numbers."""
    total = sum(one.digest for one in held) % DIGESTS
    return np.frombuffer(total.to_bytes(16, "big"), dtype=np.uint8).astype(np.float64)
