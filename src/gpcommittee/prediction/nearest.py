"""Rules whose experts fade into a reference, with the nearest experts of each test point alone.

Test points are taken in groups of nearby ones, which have most of their nearest experts in common. An expert is
evaluated only at the points that it is near to; elsewhere it says what the reference says, which adds nothing. Towards
the rim it is blended with the reference, p_i^s p_ref^(1 - s), s its share. Memory: the factors of one group of experts,
a few groups of points in flight, O(T).
"""

from __future__ import annotations

from collections.abc import Sequence
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
from gpcommittee.prediction.view import View
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray, Moments

AUTO_NEAREST = 64
"""Experts that are summed at a point where that is left open. With 16 and more, scores on electric and the geoid are
those of all experts, or better; on kin40k cut into 95 experts of 100 rows, 64 lose a hundredth of a nat."""

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


@dataclass(frozen=True)
class _Sum:
    context: Context
    total: Accumulator


def summed_experts(rule: AdditiveRule, n_experts: int) -> range:
    """Numbers of the experts that a rule sums: augmented ones are those beside the communication expert."""
    return range(1 if rule.experts is Experts.AUGMENTED else 0, n_experts)


def nearest_moments(
    rule: AdditiveRule, request: Request, store: FactorStore, engine: Engine, reporter: Reporter, n_nearest: int
) -> StandardMoments:
    """Mean, latent variance and dispersion with the nearest experts alone, in standardised units.

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
    mean, variance, dispersion : ndarray, shape (n_points,)

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    committee, kinds = request.committee, frozenset({rule.experts})
    boxes = _kept_boxes(store)
    points = request.points(slice(None)).double().cpu().numpy() / boxes.scales
    everyone = np.array(summed_experts(rule, committee.n_experts))
    groups = [_Group(rows, within_reach(boxes, everyone, points[rows], n_nearest)) for rows in nearby_groups(points)]
    sums: list[_Sum | None] = [None] * len(groups)
    outputs = empty_moments(len(request.X))
    with reporter.stage("predict", sum(len(group.experts) for group in groups)) as stage:
        for portion in store.groups(kinds):
            places = [i for i, group in enumerate(groups) if len(_of(group.experts, portion))]
            wanted = np.unique(np.concatenate([np.empty(0, np.int64), *(groups[i].experts for i in places)]))
            if len(of_portion := _of(wanted, portion)) == 0:
                continue
            factors = store.load(kinds, of_portion.tolist(), engine)
            task = partial(_continued, rule, request, boxes, points, n_nearest, portion, factors)
            found = engine.map(task, [(groups[i], sums[i]) for i in places])
            for i, one in zip(places, found, strict=True):
                done = groups[i].experts[-1] in portion
                sums[i] = None if done else one
                if done:
                    write_moments(outputs, groups[i].rows, finish(rule, one.total, one.context))
                stage.advance(len(_of(groups[i].experts, portion)))
            del factors, task
    return outputs


def _kept_boxes(store: FactorStore) -> Boxes:
    if store.boxes is None:
        store.boxes = boxes_around(store.committee)
    return store.boxes


def _of(experts: IntArray, portion: range) -> IntArray:
    """Those in a range of numbers; they are in ascending order."""
    first, last = np.searchsorted(experts, (portion.start, portion.stop))
    return experts[first:last]


def _continued(
    rule: AdditiveRule,
    request: Request,
    boxes: Boxes,
    points: FloatArray,
    n_nearest: int,
    portion: range,
    factors: Factors,
    task: tuple[_Group, _Sum | None],
) -> _Sum:
    """The sum at a group of points with the experts of one portion in it."""
    group, before = task
    experts = _of(group.experts, portion)
    share = shares(boxes, group.experts, points[group.rows], n_nearest)
    own = share[:, np.searchsorted(group.experts, experts)]
    with torch.no_grad():
        x = request.points(group.rows)
        view = View(request.committee, factors, x, rule.experts is Experts.AUGMENTED)
        total = empty(view.context.prior_variance) if before is None else before.total
        total = add_faded(rule, total, view, experts.tolist(), torch.from_numpy(own).to(x))
    return _Sum(view.context, total)


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
            total = add(rule, total, faded, view.context, expert)
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
