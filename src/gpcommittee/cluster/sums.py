"""Sums of experts that are near to some of the test points alone, and how they are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, merge
from gpcommittee.aggregation.accumulator import among_points, at_points, side_by_side


@dataclass(frozen=True)
class PartialSum:
    """A sum at some test points of a batch; at the others it has no term.

    Attributes
    ----------
    points : Tensor of int64, shape (k,)
        Their numbers, ascending.
    total : Accumulator
        At these.
    """

    points: Tensor
    total: Accumulator

    @classmethod
    def everywhere(cls, total: Accumulator) -> PartialSum:
        """A sum at all points."""
        return cls(torch.arange(len(total.precision)), total)

    @classmethod
    def of(cls, parts: Sequence[PartialSum]) -> PartialSum:
        """Sums of the same experts at different points; at least one."""
        points, order = torch.sort(torch.cat([part.points for part in parts]))
        together = side_by_side([part.total for part in parts])
        return cls(points, at_points(together, order))

    def at(self, points: Tensor) -> Accumulator:
        """The sum at these points, all of its own among them."""
        if len(points) == len(self.points):
            return self.total
        return among_points(self.total, torch.searchsorted(points, self.points), len(points))


def merged(first: PartialSum, second: PartialSum) -> PartialSum:
    """Of the experts of both, at the points of either; the experts of the first before those of the second."""
    same = torch.equal(first.points, second.points)
    points = first.points if same else torch.unique(torch.cat([first.points, second.points]))
    return PartialSum(points, merge(first.at(points), second.at(points)))
