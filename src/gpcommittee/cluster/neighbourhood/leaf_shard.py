"""A shard's leaves with all rows that their experts hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.cluster.neighbourhood.cut_shard import CutShard, in_metric
from gpcommittee.cluster.neighbourhood.halo import Halo
from gpcommittee.cluster.worker import Model, Rows, on_device, tensor_of
from gpcommittee.experts import Committee
from gpcommittee.prediction.neighbourhood import LeafStore, Leaves
from gpcommittee.prediction.neighbourhood.nearest import nearest_rows
from gpcommittee.records import FloatArray, IntArray


@dataclass(frozen=True)
class LeafShard:
    """A shard's leaves with all rows that their experts hold.

    Attributes
    ----------
    store : LeafStore
        Of these rows: the communication set, the shard's own and its halo, as they follow each other in the committee.
    numbers : ndarray of int64, shape (n_rows,)
        Numbers of the rows in the committee, ascending.
    first_leaf : int
        Number of its first leaf among those of all shards.
    """

    store: LeafStore
    numbers: IntArray
    first_leaf: int

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return self.numbers.nbytes + self.store.__sizeof__()

    @cached_property
    def own(self) -> IntArray:
        """Places of the shard's own rows, leaf after leaf."""
        leaves = self.store.leaves
        return leaves.order[: leaves.bounds[-1]]

    @cached_property
    def tree(self) -> cKDTree:
        """Of the shard's own rows."""
        return cKDTree(self.store.leaves.points[self.own])

    def nearest(self, points: FloatArray, k: int, below: float = np.inf) -> tuple[FloatArray, IntArray, IntArray]:
        """The nearest of the shard's own rows, at most all.

        Parameters
        ----------
        points : ndarray, shape (n_points, n_features)
            In the kernel's metric.
        k : int
        below : float, default=inf
            Distance from which rows do not count.

        Returns
        -------
        distances : ndarray, shape (n_points, k)
            Ascending along each line; infinite where there is no row as near as that, whatever the others say.
        numbers, leaves : ndarray of int64, shape (n_points, k)
            Of the rows in the committee, and of their leaves among those of all shards.
        """
        distances, places = nearest_rows(self.tree, self.own, points, k, below)
        return distances, self.numbers[places], self.first_leaf + self.store.leaves.leaf_of[places]

    def places(self, numbers: IntArray) -> IntArray:
        """Places of rows among those that lie here; -1 for all others."""
        at = np.searchsorted(self.numbers, numbers).clip(max=len(self.numbers) - 1)
        return np.where(self.numbers[at] == numbers, at, -1)


def put_together(
    model: Model,
    scales: FloatArray,
    sizes: NeighbourhoodSizes,
    first_leaf: int,
    budget: float,
    cut: CutShard,
    communication: Rows,
    *halos: Halo,
) -> LeafShard:
    """A shard's leaves with the rows that their experts hold; of the halo, no others are kept.

    Parameters
    ----------
    model : Model
    scales : ndarray, shape (n_features,)
        By which inputs are divided in the kernel's metric.
    sizes : NeighbourhoodSizes
    first_leaf : int
        Number of the shard's first leaf among those of all.
    budget : float
        Bytes that kept factors may take.
    cut : CutShard
    communication : (X, y)
    *halos : Halo
    """
    n_common, n_own = len(communication[1]), len(cut.points)
    own = cut.first_row + np.arange(n_own, dtype=np.int64)
    numbers = np.concatenate([np.arange(n_common, dtype=np.int64), own, *(halo.numbers for halo in halos)])
    X = np.concatenate([communication[0], cut.shard.X, *(halo.X for halo in halos)])
    y = np.concatenate([communication[1], cut.shard.y, *(halo.y for halo in halos)])
    order = np.argsort(numbers)
    numbers, X, y = numbers[order], X[order], y[order]
    leaves = _leaves(in_metric(model, X, scales), numbers, n_common, scales, sizes, cut)
    kept = (numbers < n_common) | np.isin(numbers, own)
    for leaf in range(leaves.n_leaves):
        kept[leaves.rows_of(leaf)[0]] = True
    numbers = numbers[kept]
    kernel = on_device(model.kernel, model.device)
    offsets = np.array([0, len(numbers)])
    committee = Committee(
        kernel, model.hyperparameters, tensor_of(kernel, X[kept]), tensor_of(kernel, y[kept]), offsets
    )
    leaves = _leaves(leaves.points[kept], numbers, n_common, scales, sizes, cut)
    return LeafShard(LeafStore(committee, leaves, model.calibrated, budget), numbers, first_leaf)


def _leaves(
    points: FloatArray,
    numbers: IntArray,
    n_common: int,
    scales: FloatArray,
    sizes: NeighbourhoodSizes,
    cut: CutShard,
) -> Leaves:
    """A shard's leaves among rows in the committee's order: ties fall as they fall among all rows."""
    first, n_own = int(np.searchsorted(numbers, cut.first_row)), len(cut.points)
    places = np.arange(len(numbers), dtype=np.int64)
    elsewhere = np.concatenate([places[n_common:first], places[first + n_own :]])
    order = np.concatenate([first + cut.order, elsewhere])
    return Leaves(scales, points, places, order, cut.bounds, cut.experts, sizes)
