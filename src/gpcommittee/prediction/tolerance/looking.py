"""What nearby test points see of a committee: far experts compressed, and where the others have to be evaluated.

Experts are taken from those that may matter most: what one may add that is left out is known by its distance, and once
all that is left cannot change the outcome, it is left out. A compressed expert is summed as it is where all that are
summed so are off by little enough together; from the largest, errors are mended by evaluating the expert itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, empty, finish, merge
from gpcommittee.aggregation.accumulator import summed
from gpcommittee.aggregation.rule import term_of
from gpcommittee.experts import BaseFactor, Committee
from gpcommittee.experts.base import floor_variance
from gpcommittee.prediction.boxes import Boxes, distances, distances_of_boxes
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.prediction.neighbourhood import FINE, Nearest, neighbourhood_of
from gpcommittee.prediction.reference_view import ReferenceView, view
from gpcommittee.prediction.selection import always_needed, as_columns, leads_best
from gpcommittee.prediction.tolerance.by_distance import step_of
from gpcommittee.prediction.tolerance.certainty import SIGMAS, Doubt, Extent, Measure, doubt
from gpcommittee.prediction.tolerance.far_field import FarField
from gpcommittee.prediction.tolerance.sight import Sight
from gpcommittee.records import FloatArray, IntArray
from gpcommittee.scratch import Scratch

TOGETHER = 32
"""Experts that are looked at before it is asked whether the others matter."""

LEFT_OUT = 0.2
"""Share of the tolerance for all experts that are left out."""

OFF = 0.8
"""Share for the errors of those that are compressed, where they have random signs."""

ALIKE = 4.0
"""Times the tolerance for their sum, were all of one sign: the errors reckoned with are the largest seen, four times
those met in all."""

LED = 0.2
"""Share for an error of the one that leads."""

LEADING = 4.0
"""Times its gain that an expert may have where it might lead: another one in its place is a jump."""


@dataclass(frozen=True)
class Scene:
    """A committee to be seen by points.

    Attributes
    ----------
    committee : Committee
    rule : AdditiveRule
    communication : BaseFactor
    boxes : Boxes
    field : FarField
    extent : Extent
        Of the experts, for the rule.
    """

    committee: Committee
    rule: AdditiveRule
    communication: BaseFactor
    boxes: Boxes
    field: FarField
    extent: Extent


@dataclass(frozen=True)
class _Some:
    """What some experts say from afar.

    Attributes
    ----------
    numbers : ndarray of int64, shape (k,)
        Places in the far field.
    gain, shift : Tensor, shape (n_points, k)
    off : tuple of Tensor, shape (n_points, k)
        By how much either may be off, infinite where an expert is too near for its compressed form to be trusted.
    """

    numbers: IntArray
    gain: Tensor
    shift: Tensor
    off: tuple[Tensor, Tensor]


def look(scene: Scene, x: Tensor, tolerance: float) -> Sight:
    """What some nearby points see.

    Parameters
    ----------
    scene : Scene
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    tolerance : float

    Returns
    -------
    Sight
    """
    with torch.no_grad():
        observer = _Observer.at(scene, x)
        seen, total, surely = observer.that_matter(LEFT_OUT * tolerance)
        evaluated = observer.to_be_evaluated(seen, surely, observer.measure(total), tolerance)
        total = empty(observer.points.prior)
        for some, exact in zip(seen, evaluated, strict=True):
            total = merge(total, observer.sum(some, ~exact))
        return observer.sight(total, seen, evaluated)


@dataclass(frozen=True)
class _Observer:
    """Test points that look at a scene.

    Attributes
    ----------
    scene : Scene
    points : ReferenceView
    context : Context
    places : ndarray, shape (n_points, n_features)
        Divided by the boxes' scales.
    nearest : ndarray, shape (n_points,)
        Distance to the nearest box.
    """

    scene: Scene
    points: ReferenceView
    context: Context
    places: FloatArray
    nearest: FloatArray

    @classmethod
    def at(cls, scene: Scene, x: Tensor) -> _Observer:
        points = view(scene.committee, scene.rule.reference, scene.communication, x)
        context = points.context(scene.rule, scene.committee.noise_variance)
        places = x.numpy() / scene.boxes.scales
        around = neighbourhood_of(places, Nearest(scene.boxes, 1), scene.field.experts, np.arange(len(places)))
        return cls(scene, points, context, places, np.sqrt(around.rims))

    def that_matter(self, allowance: float) -> tuple[list[_Some], Accumulator, Tensor]:
        """Experts from the one that may matter most, the sum of what they know for sure, and the largest such gain."""
        order, may_add = self._from_the_most()
        seen: list[_Some] = []
        total, largest, scratch = empty(self.points.prior), torch.zeros_like(self.points.prior), Scratch()
        for start in range(0, len(order), TOGETHER):
            if self._negligible(may_add[:, start], self.measure(total), allowance):
                break
            some = self._see(order[start : start + TOGETHER], scratch)
            surely = (some.gain - some.off[0]).clamp_min(0.0)
            seen.append(some)
            total, largest = merge(total, self._sum(some, surely)), torch.maximum(largest, surely.amax(dim=1))
        return seen, total, largest

    def _from_the_most(self) -> tuple[IntArray, FloatArray]:
        """Places of experts, from the one that may add most, and what all from each on may add together."""
        precision, shift = self.scene.extent.at(step_of(self._least_squares()))
        order = np.argsort(-np.maximum(precision, shift), kind="stable")
        order = order[~np.isin(self.scene.field.experts[order], always_needed(self.scene.rule))]
        of_shift = np.sqrt(_sums_from(np.square(shift[order])))
        return order, np.stack([_sums_from(precision[order] * self._dispersion(order).numpy()), of_shift])

    def _squares(self, numbers: IntArray) -> FloatArray:
        """Squared distances to boxes, that of the nearest one taken off: rows seen from elsewhere lie in some box."""
        squares = distances(self.scene.boxes, self.scene.field.experts[numbers], self.places)
        if not self.nearest.any():
            return squares
        return np.square(np.sqrt(squares) - self.nearest[:, None])

    def _least_squares(self) -> FloatArray:
        """The least of them that each expert may have at any of the points, shape (n_experts,)."""
        found = np.full(len(self.scene.field.experts), np.inf)
        for rows in nearby_groups(self.places, FINE):
            squares = distances_of_boxes(self.scene.boxes, self.scene.field.experts, self.places[rows])
            least = np.square(np.maximum(np.sqrt(squares) - self.nearest[rows].max(), 0.0))
            np.minimum(found, least, out=found)
        return found

    def _negligible(self, may_add: FloatArray, measure: Measure, allowance: float) -> bool:
        """Whether experts that may add so much, for a reference of variance 1, change too little to be seen."""
        if not np.isfinite(may_add).all():
            return False
        precision, shift = may_add.tolist()
        reference = self.points.reference.var_latent
        of_reference = self.scene.rule.at_level(reference, self.context)
        together = Doubt(precision / of_reference[:, None], SIGMAS * shift * (reference.sqrt() / of_reference)[:, None])
        return bool(measure.changes(together, torch.ones_like(reference[:1])).max() <= allowance)

    def measure(self, total: Accumulator) -> Measure:
        """By how much more in a sum would change the outcome."""
        outcome = finish(self.scene.rule, total, self.context)
        return Measure.of(self.scene.rule, self.points, outcome, self.context)

    def _see(self, numbers: IntArray, scratch: Scratch) -> _Some:
        field, reference = self.scene.field, self.points.reference.var_latent[:, None]
        said = field.says(self.scene.committee, self.points, numbers, scratch)
        off = field.off(said, numbers, step_of(self._squares(numbers)), reference)
        return _Some(numbers, torch.minimum(said.gain, reference), said.shift, off)

    def to_be_evaluated(self, seen: list[_Some], surely: Tensor, measure: Measure, tolerance: float) -> list[Tensor]:
        """Where experts have to be evaluated, each of shape (n_points, k)."""
        if not seen:
            return []
        changes = torch.cat([self._changes(some, measure) for some in seen], dim=1)
        evaluated = changes > _largest_kept(changes, tolerance)[:, None]
        parts = evaluated.split([len(some.numbers) for some in seen], dim=1)
        if leads_best(self.scene.rule):
            leading = (self._may_lead(some, surely, measure, tolerance) for some in seen)
            return [part | led for part, led in zip(parts, leading, strict=True)]
        return list(parts)

    def _changes(self, some: _Some, measure: Measure) -> Tensor:
        """What errors of compressed experts may change, infinite where these are not known."""
        known = some.off[0].isfinite()
        gain, shift = (error.where(known, 0.0) for error in some.off)
        doubts = self._doubt((some.gain, some.shift), (gain, shift))
        return measure.changes(doubts, self._dispersion(some.numbers)).where(known, torch.inf).float()

    def _dispersion(self, numbers: IntArray) -> Tensor:
        """1 and the size of the logarithm of each dispersion."""
        return 1 + self.scene.field.log_dispersion[torch.from_numpy(numbers)].abs()

    def _doubt(self, said: tuple[Tensor, Tensor], errors: tuple[Tensor, Tensor], weight: float | None = None) -> Doubt:
        reference = self.points.reference.var_latent[:, None]
        return doubt(self.scene.rule, as_columns(self.context), reference, said, errors, weight)

    def _may_lead(self, some: _Some, surely: Tensor, measure: Measure, tolerance: float) -> Tensor:
        """Experts that may be the most certain one, and where it matters."""
        gain, shift = some.off
        most = LEADING * some.gain + gain
        may = most >= surely[:, None]
        if not may.any():
            return may
        nothing = torch.zeros_like(gain)
        leading = self._doubt((nothing, nothing), (most, some.shift.abs() + shift), 1.0)
        return may & (measure.changes(leading, self._dispersion(some.numbers)) > LED * tolerance)

    def sum(self, some: _Some, where: Tensor) -> Accumulator:
        """Sum of compressed experts where they are good enough."""
        return self._sum(some, some.gain.where(where, 0.0))

    def _sum(self, some: _Some, gain: Tensor) -> Accumulator:
        """With another gain, and no shift where there is none."""
        reference, columns = self.points.reference, as_columns(self.context)
        shift = some.shift.where(gain > 0, 0.0)
        variance = floor_variance(reference.var_latent[:, None] - gain, columns.prior_variance)
        dispersion = self.scene.field.log_dispersion[torch.from_numpy(some.numbers)]
        return summed(term_of(self.scene.rule, reference.mean[:, None] + shift, variance, dispersion, 0.0, columns, -1))

    def sight(self, total: Accumulator, seen: list[_Some], evaluated: list[Tensor]) -> Sight:
        """What is seen, with the experts that have to be evaluated."""
        always = np.array(always_needed(self.scene.rule), dtype=np.int64)
        wheres = [*evaluated, torch.ones(len(self.points.x), len(always), dtype=torch.bool)]
        numbers = [*(self.scene.field.experts[some.numbers] for some in seen), always]
        where, experts = torch.cat(wheres, dim=1), np.concatenate(numbers)
        order = np.argsort(experts)
        order = order[where.any(dim=0).numpy()[order]]
        return Sight(self.points, total, experts[order], where[:, torch.from_numpy(order)])


def _sums_from(values: FloatArray) -> FloatArray:
    """Of each value and all after it."""
    return np.cumsum(values[::-1])[::-1]


def _largest_kept(changes: Tensor, tolerance: float) -> Tensor:
    """The largest of the small changes of each point that together stay within the tolerance; -1 if none does.

    Of random sign they add up in quadrature. Where the data are not as the kernel says their signs may all be the same.
    """
    ordered = np.sort(changes.numpy(), axis=1)
    within = np.sqrt(np.cumsum(np.square(ordered), axis=1)) <= OFF / SIGMAS * tolerance
    within &= np.cumsum(ordered, axis=1) <= ALIKE * tolerance
    count = within.sum(axis=1)
    last = ordered[np.arange(len(ordered)), np.maximum(count - 1, 0)]
    return torch.from_numpy(np.where(count > 0, last, -1.0))
