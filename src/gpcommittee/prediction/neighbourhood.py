"""Groups of nearby test points, with the experts that any of their points may be near to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.prediction.boxes import Boxes, distances, within_reach
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.records import FloatArray, IntArray

GROUP = 4096
"""Test points of a group: enough for an expert to be near to many of them."""

FINE = 128
"""Test points for which the experts within reach are sought together: few enough to rule out most of the others."""


@dataclass(frozen=True)
class Nearest:
    """Which experts are summed at a point.

    Attributes
    ----------
    boxes : Boxes
        Around the rows of all experts.
    count : int
        How many; fewer than the rule sums.
    """

    boxes: Boxes
    count: int


@dataclass(frozen=True)
class Neighbourhood:
    """A group of nearby test points.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_points,)
        Row numbers in the request, ascending.
    points : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    rims : ndarray, shape (n_points,)
        Squared distance of each point to the last of its nearest experts.
    experts : ndarray of int64
        Numbers of all that may be among the nearest of any of them, ascending.
    """

    rows: IntArray
    points: FloatArray
    rims: FloatArray
    experts: IntArray

    def among(self, numbers: range) -> IntArray:
        """Its experts with numbers in a range."""
        first, last = np.searchsorted(self.experts, (numbers.start, numbers.stop))
        return self.experts[first:last]

    def shares(self, boxes: Boxes, experts: IntArray) -> FloatArray:
        """Share of itself that each of some experts has in the sum at each point, shape (n_points, n_experts).

        1 where a point is in an expert's box, 0 from the rim on.
        """
        squares = distances(boxes, experts, self.points)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatArray = np.square(np.maximum(1.0 - squares / self.rims[:, None], 0.0))
        return np.where(squares == 0.0, 1.0, found)


def groups_of_points(points: FloatArray) -> list[IntArray]:
    """Row numbers of nearby points, group by group.

    Parameters
    ----------
    points : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    """
    return nearby_groups(points, GROUP)


def neighbourhood_of(points: FloatArray, nearest: Nearest, everyone: IntArray, rows: IntArray) -> Neighbourhood:
    """What some nearby points are near to.

    Parameters
    ----------
    points : ndarray, shape (n_points, n_features)
        All points, divided by the boxes' scales.
    nearest : Nearest
    everyone : ndarray of int64, shape (n_experts,)
        Numbers of the experts that a rule sums, ascending.
    rows : ndarray of int64
        Numbers of the points.

    Returns
    -------
    Neighbourhood
    """
    own = points[rows]
    rims, near = np.empty(len(own)), np.zeros(len(everyone), dtype=bool)
    for fine in nearby_groups(own, FINE):
        found = within_reach(nearest.boxes, everyone, own[fine], nearest.count)
        squares = distances(nearest.boxes, found, own[fine])
        rims[fine] = np.partition(squares, nearest.count - 1, axis=1)[:, nearest.count - 1]
        near[np.searchsorted(everyone, found)] = True
    return Neighbourhood(rows, own, rims, everyone[near])
