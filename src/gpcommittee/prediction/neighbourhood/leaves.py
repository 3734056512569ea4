"""Leaves of a committee's rows in the kernel's metric, the rows around each, and the rows nearest to a point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree
from torch import Tensor

from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.experts import Committee
from gpcommittee.kernels import input_scales
from gpcommittee.partition.leaves import cut_leaves
from gpcommittee.prediction.neighbourhood.nearest import nearest_rows
from gpcommittee.records import FloatArray, IntArray

MIDDLE = 2
"""Rows in the middle of an expert, in leaves: its own rows and as many of the nearest neighbours."""


@dataclass(frozen=True)
class Leaves:
    """Rows of a committee cut into leaves, and where they lie.

    Attributes
    ----------
    scales : ndarray, shape (n_features,)
        By which standardised inputs are divided in the kernel's metric.
    points : ndarray, shape (n_rows, n_features)
        All rows in that metric.
    numbers : ndarray of int64, shape (n_rows,)
        Their numbers in the committee.
    order : ndarray of int64
        Places of the rows that leaves hold, leaf after leaf, then of rows that leaves elsewhere hold; the others are
        the communication set, at the beginning.
    bounds : ndarray of int64, shape (n_leaves + 1,)
        Leaf ``l`` holds ``order[bounds[l]:bounds[l + 1]]``.
    experts : ndarray of int64, shape (n_leaves,)
        The expert that each leaf is a part of.
    sizes : NeighbourhoodSizes
        With no more communication rows than the communication set has.
    """

    scales: FloatArray
    points: FloatArray
    numbers: IntArray
    order: IntArray
    bounds: IntArray
    experts: IntArray
    sizes: NeighbourhoodSizes

    @property
    def n_leaves(self) -> int:
        return len(self.experts)

    @cached_property
    def leaf_of(self) -> IntArray:
        """Leaf of each row, shape (n_rows,); -1 for rows of the communication set and of leaves elsewhere."""
        found = np.full(len(self.points), -1, dtype=np.int64)
        found[self.order[: self.bounds[-1]]] = np.repeat(np.arange(self.n_leaves), np.diff(self.bounds))
        return found

    @cached_property
    def tree(self) -> cKDTree:
        """Of the rows that leaves hold, in their order."""
        return cKDTree(self.points[self.order])

    @cached_property
    def others(self) -> IntArray:
        """Places of the rows of the communication set that not every expert holds."""
        return np.arange(self.sizes.communication, len(self.points) - len(self.order), dtype=np.int64)

    @cached_property
    def tree_of_others(self) -> cKDTree:
        """Of the same."""
        return cKDTree(self.points[self.others])

    def own(self, leaf: int) -> IntArray:
        """Places of a leaf's own rows."""
        return self.order[self.bounds[leaf] : self.bounds[leaf + 1]]

    def in_metric(self, points: Tensor) -> FloatArray:
        """Standardised points in the kernel's metric, each of shape (n_points, n_features)."""
        found: FloatArray = points.double().cpu().numpy() / self.scales
        return found

    def nearest(self, points: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """The nearest rows that leaves hold, at most all, of equals those with the lower places.

        Parameters
        ----------
        points : ndarray, shape (n_points, n_features)
            In the kernel's metric.
        k : int

        Returns
        -------
        distances : ndarray, shape (n_points, k)
            Ascending along each line.
        places : ndarray of int64, shape (n_points, k)
        """
        return nearest_rows(self.tree, self.order, points, k)

    def rows_of(self, leaf: int) -> tuple[IntArray, int]:
        """Rows of a leaf's expert: communication rows, neighbours from far to near, own rows.

        The neighbours are the rows nearest to the centre of the leaf, of equals those with the lower numbers.

        Parameters
        ----------
        leaf : int

        Returns
        -------
        places : ndarray of int64, shape (at most ``sizes.n_rows``,)
        n_middle : int
            How many of the last of them are in the middle.
        """
        own, n_common = self.own(leaf), self.sizes.communication
        common = np.arange(n_common, dtype=np.int64)
        wanted = min(self.sizes.n_rows - n_common - len(own), len(self.points) - n_common - len(own))
        if wanted <= 0:
            return np.concatenate([common, own]), len(own)
        neighbours = self._neighbours(leaf, self.points[own].mean(axis=0), wanted)[::-1]
        return np.concatenate([common, neighbours, own]), min(MIDDLE * len(own), len(own) + wanted)

    def _neighbours(self, leaf: int, centre: FloatArray, wanted: int) -> IntArray:
        """The nearest rows of other leaves and of the communication set, from near to far."""
        size = int(self.bounds[leaf + 1] - self.bounds[leaf])
        distances, places = (found[0] for found in self.nearest(centre[None], wanted + size))
        foreign = self.leaf_of[places] != leaf
        distances, places = distances[foreign], places[foreign]
        if len(self.others) > 0:
            more = nearest_rows(self.tree_of_others, self.others, centre[None], wanted)
            distances, places = np.append(distances, more[0]), np.append(places, more[1])
        nearest: IntArray = places[np.lexsort((places, distances))[:wanted]]
        return nearest


def find_leaves(committee: Committee, sizes: NeighbourhoodSizes) -> Leaves:
    """Cut a committee's rows into leaves, each a part of one expert; into one where an expert holds all rows.

    Parameters
    ----------
    committee : Committee
    sizes : NeighbourhoodSizes

    Returns
    -------
    Leaves
    """
    offsets = committee.offsets
    numbers = np.arange(offsets[-1]) if committee.kept is None else committee.kept
    X = committee.X if committee.kept is None else committee.X[committee.kept]
    scales = scales_in_metric(committee)
    points = np.ascontiguousarray(X.double().cpu().numpy() / scales)
    first = 1 if committee.n_experts > 1 and sizes.n_rows < len(points) else 0
    sizes = replace(sizes, communication=min(sizes.communication, int(offsets[first])))
    if sizes.leaf_size >= len(points):
        order, bounds = np.arange(len(points)), np.array([0, len(points)])
        return Leaves(scales, points, numbers, order, bounds, np.zeros(1, dtype=np.int64), sizes)
    order, bounds, experts = cut_leaves(points, offsets[first:], sizes.leaf_size)
    return Leaves(scales, points, numbers, order, bounds, experts + first, sizes)


def scales_in_metric(committee: Committee) -> FloatArray:
    """By which inputs are divided in the kernel's metric, as the communication expert's rows tell, shape (D,)."""
    X, _ = committee.block(0)
    found = input_scales(committee.kernel, committee.hyperparameters.kernel, X)
    return np.ones(X.shape[1]) if found is None else found
