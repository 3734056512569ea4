"""Rows held out of a committee on a cluster."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.experts.held_out import rows_left
from gpcommittee.records import FloatArray, IntArray, Shard


def hold_out(sharded: ShardedRows, held: IntArray) -> tuple[ShardedRows, FloatArray, FloatArray]:
    """A committee that lacks some rows, and those rows.

    Parameters
    ----------
    sharded : ShardedRows
    held : ndarray of int64, shape (n_held,)
        Row numbers, ascending, as they lie on the cluster: expert after expert. Every expert keeps at least one row.

    Returns
    -------
    without : ShardedRows
    X : ndarray, shape (n_held, n_features)
        Standardised.
    y : ndarray, shape (n_held,)

    Raises
    ------
    WorkerError
        If rows were lost and could not be made again.
    """
    placed, cluster = sharded.placed, sharded.cluster
    bounds = sharded.offsets
    starts = [0, *bounds[sharded.firsts].tolist()]
    parts = [held[(held >= start) & (held < stop)] - start for start, stop in pairwise(starts)]
    own, of_shards = parts[0], list(zip(placed.shards, parts[1:], strict=True))
    shards = [cluster.submit("hold-out", "a shard", _without, shard, rows) for shard, rows in of_shards]
    taken = [cluster.submit("held-out", "a shard", _taken, shard, rows) for shard, rows in of_shards if len(rows)]
    found = [(placed.communication_X[own], placed.communication_y[own]), *cluster.results(taken)]
    experts = np.searchsorted(bounds, held, side="right") - 1
    rest = replace(
        placed,
        communication_X=np.delete(placed.communication_X, own, axis=0),
        communication_y=np.delete(placed.communication_y, own),
        shards=tuple(shards),
        sizes=placed.sizes - np.bincount(experts, minlength=len(placed.sizes)),
    )
    X, y = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return ShardedRows(cluster, rest, sharded.held), X, y


def _without(shard: Shard, held: IntArray) -> Shard:
    kept, offsets = rows_left(shard.offsets, held)
    return Shard(shard.X[kept], shard.y[kept], offsets, shard.first_expert)


def _taken(shard: Shard, held: IntArray) -> tuple[FloatArray, FloatArray]:
    return shard.X[held], shard.y[held]
