"""A shard's rows cut into leaves, and where the leaves of all shards lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from gpcommittee.cluster.worker import Model, tensor_of
from gpcommittee.partition.leaves import cut_leaves
from gpcommittee.records import FloatArray, IntArray, Shard


@dataclass(frozen=True)
class CutShard:
    """A shard's rows cut into leaves.

    Attributes
    ----------
    shard : Shard
    first_row : int
        Number of its first row in the committee.
    points : ndarray, shape (n_rows, n_features)
        Its inputs in the kernel's metric.
    order : ndarray of int64, shape (n_rows,)
        Its rows, leaf after leaf.
    bounds : ndarray of int64, shape (n_leaves + 1,)
        Leaf ``l`` holds ``order[bounds[l]:bounds[l + 1]]``.
    experts : ndarray of int64, shape (n_leaves,)
        Number of the expert that each leaf is a part of.
    centres : ndarray, shape (n_leaves, n_features)
        Means of the leaves' rows, in the metric.
    """

    shard: Shard
    first_row: int
    points: FloatArray
    order: IntArray
    bounds: IntArray
    experts: IntArray
    centres: FloatArray

    @cached_property
    def tree(self) -> cKDTree:
        """Of its rows."""
        return cKDTree(self.points)

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return self.shard.__sizeof__() + 2 * self.points.nbytes + self.order.nbytes


def in_metric(model: Model, X: FloatArray, scales: FloatArray) -> FloatArray:
    """Standardised inputs, in the precision of the kernel, in its metric."""
    return np.ascontiguousarray(tensor_of(model.kernel, X).double().numpy(force=True) / scales)


def cut_shard(model: Model, scales: FloatArray, leaf_size: int, first_row: int, shard: Shard) -> CutShard:
    """Cut a shard's experts into leaves, as one machine does.

    Parameters
    ----------
    model : Model
    scales : ndarray, shape (n_features,)
    leaf_size : int
    first_row : int
        Number of the shard's first row in the committee.
    shard : Shard
    """
    points = in_metric(model, shard.X, scales)
    order, bounds, experts = cut_leaves(points, shard.offsets, leaf_size)
    centres = np.add.reduceat(points[order], bounds[:-1], axis=0) / np.diff(bounds)[:, None]
    return CutShard(shard, first_row, points, order, bounds, experts + shard.first_expert, centres)


@dataclass(frozen=True)
class LeavesSeen:
    """Where a shard's leaves lie.

    Attributes
    ----------
    centres : ndarray, shape (n_leaves, n_features)
    radii : ndarray, shape (n_leaves,)
        Largest distance of a leaf's row to the centre.
    counts : ndarray of int64, shape (n_leaves,)
        Rows of each leaf.
    low, high : ndarray, shape (n_features,)
        The box around all rows.
    """

    centres: FloatArray
    radii: FloatArray
    counts: IntArray
    low: FloatArray
    high: FloatArray


def see_leaves(cut: CutShard) -> LeavesSeen:
    """Where a shard's leaves lie."""
    counts = np.diff(cut.bounds)
    away = cut.points[cut.order] - np.repeat(cut.centres, counts, axis=0)
    radii = np.sqrt(np.maximum.reduceat(np.square(away).sum(axis=1), cut.bounds[:-1]))
    return LeavesSeen(cut.centres, radii, counts, cut.points.min(axis=0), cut.points.max(axis=0))


@dataclass(frozen=True)
class LeafMap:
    """Where the leaves of all shards lie, in the kernel's metric.

    Attributes
    ----------
    scales : ndarray, shape (n_features,)
        By which standardised inputs are divided.
    centres : ndarray, shape (n_leaves, n_features)
    radii : ndarray, shape (n_leaves,)
    counts : ndarray of int64, shape (n_leaves,)
    shard_of_leaf : ndarray of int64, shape (n_leaves,)
    low, high : ndarray, shape (n_shards, n_features)
    """

    scales: FloatArray
    centres: FloatArray
    radii: FloatArray
    counts: IntArray
    shard_of_leaf: IntArray
    low: FloatArray
    high: FloatArray

    @cached_property
    def tree(self) -> cKDTree:
        """Of the centres."""
        return cKDTree(self.centres)

    def box_distance(self, points: FloatArray, shard: int) -> FloatArray:
        """Distance of points to the box of a shard's rows, shape (n_points,)."""
        beyond = np.maximum(np.maximum(self.low[shard] - points, points - self.high[shard]), 0.0)
        distance: FloatArray = np.sqrt(np.square(beyond).sum(axis=1))
        return distance


def map_leaves(scales: FloatArray, *shards: LeavesSeen) -> LeafMap:
    """The leaves of all shards, in their order."""
    return LeafMap(
        scales,
        np.concatenate([one.centres for one in shards]),
        np.concatenate([one.radii for one in shards]),
        np.concatenate([one.counts for one in shards]),
        np.repeat(np.arange(len(shards)), [len(one.counts) for one in shards]),
        np.stack([one.low for one in shards]),
        np.stack([one.high for one in shards]),
    )
