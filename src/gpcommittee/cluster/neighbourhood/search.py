"""Rows nearest to points, of all shards, and the shares of experts that follow.

A point goes to the shard with the nearest leaf; how far its nearest rows are there bounds how far the others have to be
looked for, and shards whose box is farther are not searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.cluster.neighbourhood.cut_shard import LeafMap
from gpcommittee.cluster.neighbourhood.halo import SLACK, above
from gpcommittee.cluster.neighbourhood.leaf_shard import LeafShard
from gpcommittee.cluster.worker import Model
from gpcommittee.experts.neighbourhood import without
from gpcommittee.prediction import Request
from gpcommittee.prediction.neighbourhood.predict import SEARCHED
from gpcommittee.prediction.neighbourhood.shares import VOTERS, Shares, joined, shares_of
from gpcommittee.records import FloatArray, IntArray

GROUPS = 16
"""Groups of points with like bounds."""


@dataclass(frozen=True)
class Asked:
    """Points of a batch.

    Attributes
    ----------
    x : ndarray, shape (n_points, n_features)
        Standardised, in the precision of the kernel.
    spread : ndarray, shape (n_points, n_features)
        The same in the kernel's metric.
    home : ndarray of int64, shape (n_points,)
        Shard of the nearest leaf.
    left_out : ndarray of int64, shape (n_points,), or None
        Number of the row that each is, and that is left out; None: points are no rows.
    """

    x: FloatArray
    spread: FloatArray
    home: IntArray
    left_out: IntArray | None

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return self.x.nbytes + self.spread.nbytes + self.home.nbytes


@dataclass(frozen=True)
class Near:
    """Rows near points, each array of shape (n_pairs,): the point, the distance, the row's number, and its leaf."""

    points: IntArray
    distances: FloatArray
    numbers: IntArray
    leaves: IntArray

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return 4 * self.points.nbytes


def ask_at(model: Model, leaves: LeafMap, X: FloatArray) -> Asked:
    """Test points of a batch, from original units."""
    request = Request(model.committee((X[:1], np.zeros(1))), model.scaling, X)
    return ask(leaves, request.points(slice(None)).double().numpy(force=True), None)


def ask(leaves: LeafMap, x: FloatArray, left_out: IntArray | None) -> Asked:
    """Standardised points, which may be rows that are left out."""
    spread = x / leaves.scales
    return Asked(x, spread, leaves.shard_of_leaf[leaves.tree.query(spread)[1]], left_out)


def search_at_home(k: int, number: int, shard: LeafShard, asked: Asked) -> Near:
    """The k nearest rows of the shard that points go to first, at most all of it."""
    points = np.flatnonzero(asked.home == number)
    distances, numbers, leaves = shard.nearest(asked.spread[points], k)
    return Near(np.repeat(points, distances.shape[1]), distances.ravel(), numbers.ravel(), leaves.ravel())


def bounds_of(k: int, *found: Near) -> FloatArray:
    """Distance within which each point has k rows, shape (n_points,); infinite where fewer were found."""
    whole = _joined(*found)
    counts = np.bincount(whole.points)
    bounds = np.zeros(len(counts))
    np.maximum.at(bounds, whole.points, whole.distances)
    return np.where(counts < k, np.inf, bounds)


def search_beyond(k: int, number: int, leaves: LeafMap, shard: LeafShard, asked: Asked, bounds: FloatArray) -> Near:
    """The k nearest rows of a shard, within their bounds, of points that went to another shard first.

    Points with like bounds are searched together: the largest of them ends the search.
    """
    near = leaves.box_distance(asked.spread, number) <= SLACK * bounds
    points = np.flatnonzero(near & (asked.home != number))
    groups = np.array_split(points[np.argsort(bounds[points], kind="stable")], GROUPS)
    found = [_search_within(k, shard, asked, group, bounds[group]) for group in groups if len(group) > 0]
    none = np.empty(0, dtype=np.int64)
    return _joined(Near(none, np.empty(0), none, none), *found)


def _search_within(k: int, shard: LeafShard, asked: Asked, points: IntArray, bounds: FloatArray) -> Near:
    distances, numbers, leaves = shard.nearest(asked.spread[points], k, above(bounds))
    within = distances <= bounds[:, None]
    return Near(points[np.nonzero(within)[0]], distances[within], numbers[within], leaves[within])


def _joined(*found: Near) -> Near:
    return Near(
        np.concatenate([one.points for one in found]),
        np.concatenate([one.distances for one in found]),
        np.concatenate([one.numbers for one in found]),
        np.concatenate([one.leaves for one in found]),
    )


def find_shares(blend: float, k: int, asked: Asked, *found: Near) -> Shares:
    """Experts, numbered among those of all shards, and their weights at all points.

    Parameters
    ----------
    blend : float
        As in ``Neighbourhood``.
    k : int
        Rows of a point that are looked at.
    asked : Asked
    *found : Near
        At least k rows of each point, the nearest among them.

    Returns
    -------
    Shares
    """
    distances, numbers, leaves = _nearest(k, len(asked.x), *found)
    if asked.left_out is not None:
        known, first = np.unique(numbers, return_index=True)
        distances, numbers = without(asked.left_out, distances, numbers, VOTERS + 1)
        leaves = leaves.ravel()[first][np.searchsorted(known, numbers)]
    chunks = [slice(start, start + SEARCHED) for start in range(0, len(distances), SEARCHED)]
    return joined([shares_of(distances[chunk], leaves[chunk], blend) for chunk in chunks])


def _nearest(k: int, n_points: int, *found: Near) -> tuple[FloatArray, IntArray, IntArray]:
    """Distances, numbers and leaves of the k nearest rows, of equals those with the lower numbers."""
    whole = _joined(*found)
    order = np.lexsort((whole.numbers, whole.distances, whole.points))
    starts = np.searchsorted(whole.points[order], np.arange(n_points))
    chosen = order[starts[:, None] + np.arange(k)]
    return whole.distances[chosen], whole.numbers[chosen], whole.leaves[chosen]
