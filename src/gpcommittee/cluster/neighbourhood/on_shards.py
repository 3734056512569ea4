"""Leaves that stay with their shards, and the chain of tasks that a batch of points goes through."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.cluster.neighbourhood.blend import answer, blend_shards, tell
from gpcommittee.cluster.neighbourhood.leaf_shard import LeafShard
from gpcommittee.cluster.neighbourhood.placed import LeftOut
from gpcommittee.cluster.neighbourhood.search import (
    ask,
    ask_at,
    bounds_of,
    find_shares,
    search_at_home,
    search_beyond,
)
from gpcommittee.cluster.tasks import Cluster
from gpcommittee.prediction.neighbourhood.leave_one_out import draw_left_out
from gpcommittee.prediction.neighbourhood.shares import VOTERS
from gpcommittee.records import FloatArray, IntArray

if TYPE_CHECKING:
    from distributed import Future

MANY_POINTS = 2**16
"""Test points of a batch: factors that are not kept are made again for each."""


@dataclass(frozen=True)
class LeavesOnShards:
    """Neighbourhood experts whose leaves stay with their shards.

    Attributes
    ----------
    cluster : Cluster
    map : Future of LeafMap
    shards : list of Future of LeafShard
    about : list of str
        Experts of each shard, for messages.
    first_leaves : ndarray of int64, shape (n_shards + 1,)
        Number of each shard's first leaf, and the number of leaves.
    first_rows : ndarray of int64, shape (n_shards + 1,)
        Number of each shard's first row, and the number of rows.
    """

    cluster: Cluster
    map: Future[Any]
    shards: list[Future[Any]]
    about: list[str]
    first_leaves: IntArray
    first_rows: IntArray

    @property
    def batch_points(self) -> int:
        return MANY_POINTS

    @property
    def n_tasks(self) -> int:
        return len(self.shards)

    def submit(self, model: Future[Any], blend: int, X: FloatArray | Future[Any], mean_only: bool) -> Future[Any]:
        points = self.cluster.kept("points", X)
        asked = self.cluster.submit("ask", "test points", ask_at, model, self.map, points)
        shares = self._shares(blend, VOTERS + 1, asked)
        told = self._told(model, mean_only, asked, shares)
        return self.cluster.submit("finish", "test points", answer, model, mean_only, shares, *told)

    def leave_out(self, model: Future[Any], blend: int) -> LeftOut:
        rows = draw_left_out(int(self.first_leaves[-1]), self._rows_of)
        x, target = self._taken(rows)
        asked = self.cluster.submit("ask", "left-out rows", ask, self.map, x, rows)
        shares = self._shares(blend, VOTERS + 2, asked)
        told = self._told(model, False, asked, shares)
        mean, variance, _, noise = self.cluster.result(
            self.cluster.submit("finish", "left-out rows", blend_shards, shares, *told)
        )
        return LeftOut(target, mean, variance, noise)

    def _shares(self, blend: int, k: int, asked: Future[Any]) -> Future[Any]:
        """Shares of experts at a batch, from the k nearest rows of each point."""
        k = min(k, int(self.first_rows[-1] - self.first_rows[0]))
        home = [
            self.cluster.submit("nearest", about, search_at_home, k, number, shard, asked)
            for number, (about, shard) in enumerate(zip(self.about, self.shards, strict=True))
        ]
        bounds = self.cluster.submit("bounds", "nearest rows", bounds_of, k, *home)
        beyond = [
            self.cluster.submit("nearest", about, search_beyond, k, number, self.map, shard, asked, bounds)
            for number, (about, shard) in enumerate(zip(self.about, self.shards, strict=True))
        ]
        return self.cluster.submit("shares", "nearest rows", find_shares, blend, k, asked, *home, *beyond)

    def _told(self, model: Future[Any], mean_only: bool, asked: Future[Any], shares: Future[Any]) -> list[Future[Any]]:
        """What the experts of every shard say of a batch."""
        return [
            self.cluster.submit("predict", about, tell, model, mean_only, shard, asked, shares)
            for about, shard in zip(self.about, self.shards, strict=True)
        ]

    def _rows_of(self, leaves: IntArray) -> list[IntArray]:
        """Numbers of the rows of leaves."""
        holders = np.searchsorted(self.first_leaves, leaves, side="right") - 1
        asked = [
            self.cluster.submit("leaf", self.about[shard], _rows, self.shards[shard], int(leaf))
            for shard, leaf in zip(holders.tolist(), leaves, strict=True)
        ]
        return self.cluster.results(asked)

    def _taken(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Standardised inputs and target of rows, given by ascending numbers."""
        cuts = np.searchsorted(rows, self.first_rows)
        asked = [
            self.cluster.submit("take", about, _values, shard, rows[low:high])
            for about, shard, (low, high) in zip(self.about, self.shards, pairwise(cuts.tolist()), strict=True)
            if low < high
        ]
        found = self.cluster.results(asked)
        return np.concatenate([X for X, _ in found]), np.concatenate([y for _, y in found])


def _rows(shard: LeafShard, leaf: int) -> IntArray:
    return shard.numbers[shard.store.leaves.own(leaf - shard.first_leaf)]


def _values(shard: LeafShard, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    places, committee = shard.places(numbers), shard.store.committee
    return committee.X[places].double().numpy(force=True), committee.y[places].double().numpy(force=True)
