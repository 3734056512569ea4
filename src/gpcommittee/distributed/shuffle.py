"""The shuffle: each block is split by shard, and each shard is made of its pieces in the order of the blocks.

Pieces go from worker to worker; the client sees counts alone. A shard depends on the rows and the sorter, so it is the
same wherever it is made, and made again from its pieces, and these from the source, when its worker is lost.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from gpcommittee.distributed.blocks import Block, standardised
from gpcommittee.distributed.cluster import RETRIES, failure, free_to_move, gathered, worker_slots
from gpcommittee.distributed.place import PlacedBlocks
from gpcommittee.distributed.sorting import Sorter
from gpcommittee.errors import WorkerError
from gpcommittee.partition.routing import leaf_offsets
from gpcommittee.records import FloatArray, IntArray, Shard, Standardisation

if TYPE_CHECKING:
    from distributed import Future

Piece = tuple[FloatArray, FloatArray]
"""Inputs and target of the rows of one block that go to one shard."""


@dataclass(frozen=True)
class Shuffle:
    """Rows in their shards.

    Attributes
    ----------
    shards : tuple of Future of Shard
    sizes : ndarray of int64, shape (n_experts - 1,)
        Rows of each expert, the communication expert left out.
    """

    shards: tuple[Future[Any], ...]
    sizes: IntArray


def shuffle(placed: PlacedBlocks, communication: IntArray, sorter: Sorter, offsets: IntArray, n_shards: int) -> Shuffle:
    """Move all rows but the communication set to their shards.

    Parameters
    ----------
    placed : PlacedBlocks
    communication : ndarray of int64, shape (n_communication,)
        Row numbers over all blocks, ascending.
    sorter : Sorter
    offsets : ndarray of int64, shape (n_others + 1,)
        Boundaries of the other experts as they are planned.
    n_shards : int

    Returns
    -------
    Shuffle

    Raises
    ------
    WorkerError
        Rows that were lost and could not be read again, or shards that no worker can hold.
    """
    client = placed.client
    held = client.submit(_same, sorter, pure=False)
    bounds = np.searchsorted(communication, placed.starts)
    left_out = [communication[a:b] - start for a, b, start in zip(bounds[:-1], bounds[1:], placed.starts, strict=False)]
    splits = client.map(
        split_block,
        placed.blocks,
        placed.starts[:-1].tolist(),
        left_out,
        sorter=held,
        scaling=placed.scaling,
        n_shards=n_shards,
        pure=False,
        retries=RETRIES,
    )
    told = client.map(_lengths, splits, pure=False, retries=RETRIES)
    counts = np.sum(gathered(client, told, "Splitting the rows by shard"), axis=0)
    within = leaf_offsets(counts, offsets)
    shards = _made(placed, splits, held, within)
    return Shuffle(shards, np.concatenate([np.diff(each) for each in within]))


def split_block(
    block: Block, first_row: int, left_out: IntArray, sorter: Sorter, scaling: Standardisation, n_shards: int
) -> list[Piece]:
    """The rows of a block by shard, standardised and in their order; the rows left out go to none."""
    rows = np.delete(np.arange(len(block.X)), left_out)
    X, y = standardised(block, rows, scaling)
    shards = sorter.shards(X, first_row + rows)
    order = np.argsort(shards, kind="stable")
    ends = np.cumsum(np.bincount(shards, minlength=n_shards))[:-1]
    return [(X[places], y[places]) for places in np.split(order, ends)]


def build_shard(pieces: Sequence[Piece], sorter: Sorter, offsets: IntArray, shard: int, first_expert: int) -> Shard:
    """A shard of its pieces in the order of the blocks, its rows ordered by expert."""
    X, y = np.concatenate([X for X, _ in pieces]), np.concatenate([y for _, y in pieces])
    order = sorter.order(X, offsets, shard)
    return Shard(X[order], y[order], offsets, first_expert)


def _made(
    placed: PlacedBlocks, splits: Sequence[Future[Any]], sorter: Future[Any], within: Sequence[IntArray]
) -> tuple[Future[Any], ...]:
    """The shards, spread evenly over the workers; another one may make a shard whose worker is lost."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    name, n_shards = uuid4().hex, len(within)
    pieces = {
        (f"piece-{name}", part, shard): (operator.getitem, split, shard)
        for part, split in enumerate(splits)
        for shard in range(n_shards)
    }
    slots = worker_slots(placed.client)
    first_experts = np.cumsum([1, *(len(offsets) - 1 for offsets in within)]).tolist()
    layers, below = {"pieces": MaterializedLayer(pieces)}, {"pieces": set[str]()}
    keys = [(f"shard-{name}", shard) for shard in range(n_shards)]
    for shard, key in enumerate(keys):
        own = [(f"piece-{name}", part, shard) for part in range(len(splits))]
        task = {key: (build_shard, own, sorter, within[shard], shard, first_experts[shard])}
        place = [slots[shard * len(slots) // n_shards]] if slots else None
        at = {"workers": place, "allow_other_workers": place is not None}
        layers[str(key)], below[str(key)] = MaterializedLayer(task, annotations=at), {"pieces"}
    shards = placed.client.get(HighLevelGraph(layers, below), keys, sync=False, retries=RETRIES)
    free_to_move(placed.client, shards)
    for shard in shards:
        if shard.status != "finished":
            raise WorkerError(failure("Making the shards", shard.exception()))
    return tuple(shards)


def _lengths(pieces: Sequence[Piece]) -> IntArray:
    return np.array([len(y) for _, y in pieces], dtype=np.int64)


def _same(sorter: Sorter) -> Sorter:
    """A task's result, unlike data sent to a worker, can be had again when the worker is lost."""
    return sorter
