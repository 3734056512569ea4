"""Rows of other shards that the experts of a shard's leaves hold, found without looking at all rows.

A shard bounds how far the neighbours of each of its leaves can lie, by its own rows and by the leaves of others; those
with rows as near as that send theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.cluster.neighbourhood.cut_shard import CutShard, LeafMap
from gpcommittee.prediction.neighbourhood.nearest import nearest_rows
from gpcommittee.records import FloatArray, IntArray

SLACK = 1 + 1e-9
"""Ratio by which bounds are widened, so that rounding loses no row."""


LEAST = 1e-150
"""A distance that is above 0, and so is its square."""


def above(bounds: FloatArray) -> float:
    """A distance above all bounds."""
    return max(LEAST, SLACK * float(bounds.max(initial=0.0)))


@dataclass(frozen=True)
class Reach:
    """How far the neighbours of a shard's leaves can lie.

    Attributes
    ----------
    centres : ndarray, shape (n_leaves, n_features)
        Of its leaves, in the kernel's metric.
    bounds : ndarray, shape (n_leaves,)
        Distance from the centre; below 0 where a leaf needs no neighbours.
    n_nearest : int
        Rows nearest to a centre, the leaf's own among them, that neighbours are taken from.
    sources : list of int
        Other shards that can hold some.
    """

    centres: FloatArray
    bounds: FloatArray
    n_nearest: int
    sources: list[int]


@dataclass(frozen=True)
class Halo:
    """Rows of one shard around the leaves of another.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n_rows,)
        In the committee, ascending.
    X : ndarray, shape (n_rows, n_features)
        Standardised.
    y : ndarray, shape (n_rows,)
    """

    numbers: IntArray
    X: FloatArray
    y: FloatArray

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return self.numbers.nbytes + self.X.nbytes + self.y.nbytes


def find_reach(n_nearest: int, leaves: LeafMap, number: int, cut: CutShard) -> Reach:
    """How far the neighbours of a shard's leaves can lie, and in which other shards.

    Parameters
    ----------
    n_nearest : int
        Rows that an expert holds beside those that all experts hold.
    leaves : LeafMap
    number : int
        Of the shard.
    cut : CutShard
    """
    bounds = _bound_by_leaves(n_nearest, leaves, cut.centres)
    if len(cut.points) >= n_nearest:
        by_rows, _ = cut.tree.query(cut.centres, k=[n_nearest])
        bounds = np.minimum(bounds, by_rows[:, 0])
    bounds = np.where(np.diff(cut.bounds) < n_nearest, SLACK * bounds, -1.0)
    others = [other for other in range(len(leaves.low)) if other != number]
    sources = [other for other in others if (leaves.box_distance(cut.centres, other) <= bounds).any()]
    return Reach(cut.centres, bounds, n_nearest, sources)


def sources_of(reach: Reach) -> list[int]:
    """Shards that can hold neighbours."""
    return reach.sources


def _bound_by_leaves(n_nearest: int, leaves: LeafMap, centres: FloatArray) -> FloatArray:
    """Distance within which leaves near each centre have as many rows; infinite where these are too few."""
    n_leaves = min(len(leaves.counts), 1 + 2 * -(-n_nearest // int(leaves.counts.min())))
    far, near = leaves.tree.query(centres, k=np.arange(1, n_leaves + 1))
    far = far + leaves.radii[near]
    order = np.argsort(far, axis=1)
    rows = np.take_along_axis(leaves.counts[near], order, axis=1).cumsum(axis=1)
    enough = rows >= n_nearest
    found = np.take_along_axis(np.take_along_axis(far, order, axis=1), enough.argmax(axis=1)[:, None], axis=1)[:, 0]
    bounds: FloatArray = np.where(enough.any(axis=1), found, np.inf)
    return bounds


def take_halo(leaves: LeafMap, reach: Reach, number: int, cut: CutShard) -> Halo:
    """Rows of a shard that can be neighbours of the leaves of another.

    Parameters
    ----------
    leaves : LeafMap
    reach : Reach
        Of the other shard.
    number : int
        Of this shard.
    cut : CutShard
        This shard.
    """
    near = np.flatnonzero(leaves.box_distance(reach.centres, number) <= reach.bounds)
    rows, below = np.arange(len(cut.points), dtype=np.int64), above(reach.bounds[near])
    distances, found = nearest_rows(cut.tree, rows, reach.centres[near], reach.n_nearest, below)
    chosen = np.unique(found[distances <= reach.bounds[near, None]])
    return Halo(cut.first_row + chosen, cut.shard.X[chosen], cut.shard.y[chosen])
