"""Rules whose experts fade into a reference, with the nearest experts of each test point alone.

Test points are taken in groups of nearby ones, which have most of their nearest experts in common. An expert is
evaluated only at the points that it is near to; elsewhere it says what the reference says, which adds nothing. Towards
the rim it is blended with the reference, p_i^s p_ref^(1 - s), s its share. Memory: the factors of one group of experts,
a few groups of points in flight, O(T).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Experts, Reference, add, empty, finish
from gpcommittee.aggregation.rule import communication_moments
from gpcommittee.engines import Engine
from gpcommittee.prediction.boxes import Boxes, boxes_around, shares, within_reach
from gpcommittee.prediction.factors import Factors, FactorStore
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.selection import selectable
from gpcommittee.prediction.stream import Sums
from gpcommittee.prediction.view import View
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray, Moments

AUTO_NEAREST = 64
"""Experts that are summed at a point where that is left open. With 16 and more, scores on electric and the geoid are
those of all experts, or better; on kin40k cut into 95 experts of 100 rows, 64 lose a hundredth of a nat."""

GROUP = 4096
"""Test points of a group: enough for an expert to be near to many of them."""

NEAREST = ("auto", "all")
"""Names that stand for a number of nearest experts."""


def resolve_nearest(nearest: int | str, n_experts: int, *, by_distance: bool, tolerance: float) -> int | None:
    """How many of the nearest experts a prediction sums; None for all.

    Parameters
    ----------
    nearest : int, "auto" or "all"
        "auto": 64 where there are more than twice as many, they divide the inputs, and no tolerance says how much of
        all of them counts.
    n_experts : int
    by_distance : bool
        Whether rows were divided by their inputs.
    tolerance : float

    Returns
    -------
    int or None

    Examples
    --------
    >>> resolve_nearest("auto", 129, by_distance=True, tolerance=0.0)
    64
    >>> resolve_nearest("auto", 128, by_distance=True, tolerance=0.0)
    """
    if isinstance(nearest, int):
        return nearest if nearest < n_experts else None
    chooses = nearest == "auto" and by_distance and tolerance == 0 and n_experts > 2 * AUTO_NEAREST
    return AUTO_NEAREST if chooses else None


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
class _Group:
    """Nearby test points.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_points,)
        Row numbers in the request.
    experts : ndarray of int64
        All that may be among the nearest of any of them.
    """

    rows: IntArray
    experts: IntArray


def sums_nearest(rule: AdditiveRule, n_experts: int, n_nearest: int | None) -> bool:
    """Whether a rule sums the nearest experts alone: it fades into a reference, and there are more."""
    return n_nearest is not None and selectable(rule) and n_nearest < len(summed_experts(rule, n_experts))


def summed_experts(rule: AdditiveRule, n_experts: int) -> range:
    """Numbers of the experts that a rule sums: augmented ones are those beside the communication expert."""
    return range(1 if rule.experts is Experts.AUGMENTED else 0, n_experts)


def nearest_moments(
    rule: AdditiveRule, request: Request, store: FactorStore, engine: Engine, reporter: Reporter, n_nearest: int
) -> StandardMoments:
    """Mean, latent variance, dispersion and relative noise with the nearest experts alone, in standardised units.

    Parameters
    ----------
    rule : AdditiveRule
        With experts that fade into a reference.
    request : Request
    store : FactorStore
    engine : Engine
    reporter : Reporter
    n_nearest : int
        Fewer than the rule sums.

    Returns
    -------
    mean, variance, dispersion, relative noise : ndarray, shape (n_points,)

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    if store.boxes is None:
        store.boxes = boxes_around(store.committee)
    outputs = empty_moments(len(request.X))
    for rows, sums in nearest_sums(rule, request, store, engine, reporter, Nearest(store.boxes, n_nearest)):
        write_moments(outputs, rows, finish(rule, sums.totals[0], sums.context))
    return outputs


def nearest_sums(
    rule: AdditiveRule,
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    nearest: Nearest,
    first: int = 0,
) -> Iterator[tuple[IntArray, Sums]]:
    """Sums over the nearest experts of each point, group by group of nearby points.

    Parameters
    ----------
    rule : AdditiveRule
    request : Request
    store : FactorStore
        Of the whole committee, or of the communication expert and some consecutive others.
    engine : Engine
    reporter : Reporter
    nearest : Nearest
    first : int
        Number in the store's committee of the first expert that is summed.

    Yields
    ------
    rows : ndarray of int64
        Row numbers of the group's points.
    sums : Sums
        Of the experts that the store has.
    """
    committee, kinds = request.committee, frozenset({rule.experts})
    points = request.points(slice(None)).double().cpu().numpy() / nearest.boxes.scales
    everyone = np.array(summed_experts(rule, len(nearest.boxes.lower)))
    groups = [
        _Group(rows, within_reach(nearest.boxes, everyone, points[rows], nearest.count))
        for rows in nearby_groups(points, GROUP)
    ]
    last = committee.number(committee.n_experts - 1)
    at_hand = [_of(group.experts, range(committee.number(first), last + 1)) for group in groups]
    sums: list[Sums | None] = [None] * len(groups)
    with reporter.stage("predict", sum(map(len, at_hand))) as stage:
        for portion in store.groups(kinds, first):
            numbers = range(committee.number(portion.start), committee.number(portion.stop - 1) + 1)
            here = [_of(experts, numbers) for experts in at_hand]
            places = [i for i, experts in enumerate(here) if len(experts)]
            if not places:
                continue
            wanted = np.unique(np.concatenate([here[i] for i in places])) - numbers.start + portion.start
            factors = store.load(kinds, wanted.tolist(), engine)
            shift = numbers.start - portion.start
            task = partial(_continued, rule, request, nearest, points, shift, factors)
            found = engine.map(task, [(groups[i], here[i], sums[i]) for i in places])
            for i, one in zip(places, found, strict=True):
                sums[i] = one
                stage.advance(len(here[i]))
                if at_hand[i][-1] in numbers:
                    yield groups[i].rows, one
                    sums[i] = None
            del factors, task
    for group, experts in zip(groups, at_hand, strict=True):
        if len(experts) == 0:
            yield group.rows, _without_experts(rule, request, store, engine, group.rows)


def _of(experts: IntArray, numbers: range) -> IntArray:
    """Those in a range of numbers; they are in ascending order."""
    first, last = np.searchsorted(experts, (numbers.start, numbers.stop))
    return experts[first:last]


def _continued(
    rule: AdditiveRule,
    request: Request,
    nearest: Nearest,
    points: FloatArray,
    shift: int,
    factors: Factors,
    task: tuple[_Group, IntArray, Sums | None],
) -> Sums:
    """The sum at a group of points with more experts in it; the store's numbers are theirs less the shift."""
    group, experts, before = task
    share = shares(nearest.boxes, group.experts, points[group.rows], nearest.count)
    own = share[:, np.searchsorted(group.experts, experts)]
    with torch.no_grad():
        x = request.points(group.rows)
        view = View(request.committee, factors, x, rule.reference is Reference.COMMUNICATION)
        total = empty(view.context.prior_variance) if before is None else before.totals[0]
        total = add_faded(rule, total, view, (experts - shift).tolist(), torch.from_numpy(own).to(x))
    return Sums(view.context, [total])


def _without_experts(rule: AdditiveRule, request: Request, store: FactorStore, engine: Engine, rows: IntArray) -> Sums:
    """No expert of the store is near; the context is that of the communication expert."""
    factors = store.load(frozenset({rule.experts}), [], engine)
    with torch.no_grad():
        view = View(request.committee, factors, request.points(rows), rule.reference is Reference.COMMUNICATION)
        return Sums(view.context, [empty(view.context.prior_variance)])


def add_faded(rule: AdditiveRule, total: Accumulator, view: View, experts: Sequence[int], share: Tensor) -> Accumulator:
    """A sum with more experts in it, each with its share at each point.

    Parameters
    ----------
    rule : AdditiveRule
    total : Accumulator
        Of the experts before.
    view : View
        Of the points, with the factors of the experts.
    experts : sequence of int
    share : Tensor, shape (n_points, n_experts)
        From 0 to 1; an expert is not evaluated where it has none.

    Returns
    -------
    Accumulator
    """
    for column, expert in enumerate(experts):
        rows = share[:, column].nonzero()[:, 0]
        if len(rows):
            moments = view.at(rows).moments(expert)[rule.experts]
            faded = _blended(rule, view.context, moments, rows, share[rows, column])
            total = add(rule, total, faded, view.context, view.number(expert))
    return total


def _blended(rule: AdditiveRule, context: Context, moments: Moments, rows: Tensor, share: Tensor) -> Moments:
    """An expert's moments, the reference's where it has no share, and between the two where it has a part of one."""
    reference = _reference(rule, context)
    mean, variance = reference.mean.clone(), reference.var_latent.clone()
    of_expert, of_reference = share / moments.var_latent, (1 - share) / variance[rows]
    variance[rows] = 1 / (of_expert + of_reference)
    mean[rows] = (of_expert * moments.mean + of_reference * mean[rows]) * variance[rows]
    return replace(moments, mean=mean, var_latent=variance)


def _reference(rule: AdditiveRule, context: Context) -> Moments:
    if rule.reference is Reference.COMMUNICATION:
        return communication_moments(context)
    return Moments(torch.zeros_like(context.prior_variance), context.prior_variance)
