"""From rows in blocks to rows in shards: the communication set to the client, all others to their experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.distributed.place import PlacedBlocks, take_rows
from gpcommittee.distributed.shuffle import Shuffle, shuffle
from gpcommittee.distributed.sorting import RandomSorter, Sorter, TreeSorter
from gpcommittee.errors import InvalidParameterError
from gpcommittee.partition.communication import draw_rows
from gpcommittee.partition.routing import find_routes, group_bounds
from gpcommittee.partition.sizes import PartitionSizes, balanced_offsets
from gpcommittee.records import FloatArray, IntArray, Standardisation

if TYPE_CHECKING:
    from distributed import Future

METHODS = ("tree", "random")
"""Partitions of rows that no process holds together."""

SAMPLE_ROWS = 100_000
"""Rows from which splits are found; with no more than these, all of them."""

MOST_EXACT_SHARDS = 32
"""Shards where the sample is all rows: as many as occupy a small cluster, each of an expert or more."""

SAMPLE_ROWS_PER_SHARD = 500
"""Rows of the sample that a shard gets at least: its share of all rows is then met to some per cent."""


@dataclass(frozen=True)
class Drawn:
    """Rows whose communication set is drawn, and what is needed to divide the others.

    Attributes
    ----------
    placed : PlacedBlocks
    method : str
    sizes : PartitionSizes
    communication : ndarray of int64, shape (communication_size,)
        Row numbers over all blocks, ascending.
    communication_X : ndarray, shape (communication_size, n_features)
        Standardised, as are the following.
    communication_y : ndarray, shape (communication_size,)
    sample : ndarray of int64, shape (n_sample,)
        Row numbers of the sample from the others, ascending; empty unless splits are to be found.
    sample_X : ndarray, shape (n_sample, n_features)
    key : tuple of int
        Randomness for a random partition.
    """

    placed: PlacedBlocks
    method: str
    sizes: PartitionSizes
    communication: IntArray
    communication_X: FloatArray
    communication_y: FloatArray
    sample: IntArray
    sample_X: FloatArray
    key: tuple[int, int]


@dataclass(frozen=True)
class PlacedRows:
    """Standardised rows divided among experts, all but the communication set on the workers.

    Attributes
    ----------
    communication_X : ndarray, shape (n_communication, n_features)
    communication_y : ndarray, shape (n_communication,)
    shards : tuple of Future of Shard
        In the order of their experts; each lies on the worker that made it, and is made again if that worker is lost.
    sizes : ndarray of int64, shape (n_experts,)
        Rows of each expert, the communication expert first.
    scaling : Standardisation
    """

    communication_X: FloatArray
    communication_y: FloatArray
    shards: tuple[Future[Any], ...]
    sizes: IntArray
    scaling: Standardisation


def check_method(method: object) -> str:
    """The name of a partition that can be made on a cluster.

    Raises
    ------
    InvalidParameterError
        Any other.
    """
    if isinstance(method, str) and method in METHODS:
        return method
    shown = repr(method) if isinstance(method, str) else f"labels of type {type(method).__name__}"
    raise InvalidParameterError(
        f"partition={shown} needs all rows in one process; rows that lie on a cluster are divided by "
        f"{' or '.join(map(repr, METHODS))}."
    )


def draw(placed: PlacedBlocks, method: object, sizes: PartitionSizes, seed: int) -> Drawn:
    """Draw the communication set, a uniform sample of all rows, and the sample that says where to split.

    The same seed and rows give the same communication set as on one machine, however they are divided into blocks.

    Parameters
    ----------
    placed : PlacedBlocks
    method : {"tree", "random"}
    sizes : PartitionSizes
    seed : int

    Returns
    -------
    Drawn

    Raises
    ------
    InvalidParameterError
        Another method, sizes that do not fit the rows, or a negative seed.
    WorkerError
        Rows that were lost and could not be read again.
    """
    name = check_method(method)
    communication, stream = draw_rows(placed.n_rows, sizes, seed)
    n_rest = placed.n_rows - len(communication)
    n_shards = len(_shard_bounds(placed, name, sizes)) - 1
    n_sample = _sample_size(n_rest, n_shards) if name == "tree" and n_shards > 1 else 0
    sample = _others(communication, np.sort(_choice(stream, n_rest, n_sample)))
    both = np.sort(np.concatenate([communication, sample]))
    X, y = take_rows(placed, both)
    drawn, rest = np.searchsorted(both, communication), np.searchsorted(both, sample)
    key = stream.spawn(1)[0].generate_state(2, np.uint64)
    return Drawn(placed, name, sizes, communication, X[drawn], y[drawn], sample, X[rest], (int(key[0]), int(key[1])))


def divide_rows(drawn: Drawn, scales: FloatArray | None = None) -> PlacedRows:
    """Send every row but the communication set to its shard, and divide shards among experts.

    Where the sample is all rows, the tree is the one of `tree_partition`. Otherwise its shards are cut where the
    sample is, and the experts of each are as many as the rows that came; within a shard the cuts are exact.

    Parameters
    ----------
    drawn : Drawn
    scales : ndarray, shape (n_features,), optional
        By which inputs are divided before distances are looked at. The rows of the shards are not.

    Returns
    -------
    PlacedRows
        The same whatever the workers are.

    Raises
    ------
    WorkerError
        Rows that were lost and could not be read again, or shards that no worker can hold.
    """
    placed, n_others = drawn.placed, drawn.sizes.n_experts - 1
    offsets = balanced_offsets(placed.n_rows - len(drawn.communication), n_others)
    moved = Shuffle((), np.zeros(0, dtype=np.int64))
    if n_others > 0:
        bounds = _shard_bounds(placed, drawn.method, drawn.sizes)
        moved = shuffle(placed, drawn.communication, _sorter(drawn, offsets, bounds, scales), offsets, len(bounds) - 1)
    return PlacedRows(
        drawn.communication_X,
        drawn.communication_y,
        moved.shards,
        np.concatenate([[len(drawn.communication)], moved.sizes]).astype(np.int64),
        placed.scaling,
    )


def _sorter(drawn: Drawn, offsets: IntArray, bounds: IntArray, scales: FloatArray | None) -> Sorter:
    if drawn.method == "random":
        ends = offsets[bounds[1:]]
        return RandomSorter(drawn.key, np.append(ends[:-1] / ends[-1], np.inf))
    sample = drawn.sample_X if scales is None else drawn.sample_X / scales
    return TreeSorter(find_routes(sample, drawn.sample, offsets, len(bounds) - 1), scales)


def _shard_bounds(drawn_from: PlacedBlocks, method: str, sizes: PartitionSizes) -> IntArray:
    """Experts, the communication expert left out, at which shards begin, and their number; of the data alone."""
    n_rest = drawn_from.n_rows - sizes.communication_size
    if method == "tree" and n_rest <= SAMPLE_ROWS:
        return group_bounds(sizes.n_experts - 1, 1, MOST_EXACT_SHARDS)
    return group_bounds(sizes.n_experts - 1)


def _sample_size(n_rest: int, n_shards: int) -> int:
    return min(n_rest, max(SAMPLE_ROWS, SAMPLE_ROWS_PER_SHARD * n_shards))


def _choice(stream: np.random.SeedSequence, n_rows: int, size: int) -> IntArray:
    """Distinct places below ``n_rows``; all of them without a draw."""
    if size == n_rows:
        return np.arange(n_rows, dtype=np.int64)
    return np.random.default_rng(stream).choice(n_rows, size, replace=False, shuffle=False).astype(np.int64)


def _others(communication: IntArray, places: IntArray) -> IntArray:
    """Row numbers of places among the rows that are not in the communication set."""
    return places + np.searchsorted(communication - np.arange(len(communication)), places, side="right")
