"""Rules whose experts fade into a reference, with the nearest experts of each test point alone.

Test points are taken in groups of nearby ones, which have most of their nearest experts in common. An expert is
evaluated only at the points that it is near to; elsewhere it says what the reference says, which adds nothing. Towards
the rim it is blended with the reference, p_i^s p_ref^(1 - s), s its share. Memory: the factors of one group of experts,
a few groups of points in flight, O(T).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Experts, Reference, add, empty, finish
from gpcommittee.aggregation.rule import communication_moments
from gpcommittee.choices import check_count_or_name
from gpcommittee.engines import Engine, for_tasks_and_parts, map_parts
from gpcommittee.errors import InvalidParameterError
from gpcommittee.prediction.boxes import Boxes
from gpcommittee.prediction.factors import Factors, FactorStore
from gpcommittee.prediction.neighbourhood import Nearest, Neighbourhood, groups_of_points, neighbourhood_of
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.selection import selectable
from gpcommittee.prediction.stream import Sums
from gpcommittee.prediction.view import View
from gpcommittee.progress import Reporter
from gpcommittee.records import IntArray, Moments

AUTO_NEAREST = 64
"""Experts that are summed at a point where that is left open. With 16 and more, scores on electric and the geoid are
those of all experts, or better; on kin40k cut into 95 experts of 100 rows, 64 lose a hundredth of a nat."""

NEAREST = ("auto", "all")
"""Names that stand for a number of nearest experts."""


def check_nearest(value: object, partition: object) -> int | str:
    """A number of nearest experts, "auto" or "all".

    Parameters
    ----------
    value : object
    partition : object
        Its name, or labels.

    Raises
    ------
    InvalidParameterError
        If it is none of these, or a number where the partition is random.
    """
    wanted = check_count_or_name("nearest_experts", value, NEAREST)
    if isinstance(wanted, int) and isinstance(partition, str) and partition == "random":
        raise InvalidParameterError(
            f"nearest_experts={wanted} needs experts that divide the inputs, and a random partition does not; choose "
            "partition='tree' or nearest_experts='all'."
        )
    return wanted


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
) -> Iterator[tuple[IntArray, Sums]]:
    """Sums over the nearest experts of each point, group by group of nearby points.

    Parameters
    ----------
    rule : AdditiveRule
    request : Request
    store : FactorStore
    engine : Engine
    reporter : Reporter
    nearest : Nearest

    Yields
    ------
    rows : ndarray of int64
        Row numbers of the group's points.
    sums : Sums
    """
    kinds = frozenset({rule.experts})
    groups = neighbourhoods(rule, request, engine, nearest)
    sums: list[Sums | None] = [None] * len(groups)
    with reporter.stage("predict", sum(len(group.experts) for group in groups), unit="steps") as stage:
        for portion in store.groups(kinds):
            here = [group.among(portion) for group in groups]
            places = [i for i, experts in enumerate(here) if len(experts)]
            if not places:
                continue
            wanted = np.unique(np.concatenate([here[i] for i in places]))
            factors = store.load(kinds, wanted.tolist(), engine)
            outer, inner = for_tasks_and_parts(engine, len(places))
            task = partial(_continued, rule, request, nearest.boxes, factors, inner)
            found = outer.map(task, [(groups[i], here[i], sums[i]) for i in places])
            for i, one in zip(places, found, strict=True):
                sums[i] = one
                stage.advance(len(here[i]))
                if groups[i].experts[-1] in portion:
                    yield groups[i].rows, one
                    sums[i] = None
            del factors, task


def neighbourhoods(rule: AdditiveRule, request: Request, engine: Engine, nearest: Nearest) -> list[Neighbourhood]:
    """All test points, group by group.

    Parameters
    ----------
    rule : AdditiveRule
        Says which experts are summed.
    request : Request
    engine : Engine
    nearest : Nearest

    Returns
    -------
    list of Neighbourhood
    """
    points = request.points(slice(None)).double().numpy(force=True) / nearest.boxes.scales
    everyone = np.array(summed_experts(rule, len(nearest.boxes.lower)))
    return list(engine.map(partial(neighbourhood_of, points, nearest, everyone), groups_of_points(points)))


def _continued(
    rule: AdditiveRule,
    request: Request,
    boxes: Boxes,
    factors: Factors,
    engine: Engine,
    task: tuple[Neighbourhood, IntArray, Sums | None],
) -> Sums:
    """The sum at a group of points with more experts in it."""
    group, experts, before = task
    with torch.no_grad():
        x = request.points(group.rows)
        view = View(request.committee, factors, x, rule.reference is Reference.COMMUNICATION)
        total = empty(view.context.prior_variance) if before is None else before.totals[0]
        share = torch.from_numpy(group.shares(boxes, experts)).to(x)
        return Sums(view.context, [add_faded(rule, total, view, experts.tolist(), share, engine)])


def add_faded(
    rule: AdditiveRule, total: Accumulator, view: View, experts: Sequence[int], share: Tensor, engine: Engine
) -> Accumulator:
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
    engine : Engine
        Evaluates the experts.

    Returns
    -------
    Accumulator
    """

    @torch.no_grad()
    def at_rows(task: tuple[int, Tensor, Tensor]) -> Moments:
        expert, rows, _ = task
        return view.at(rows).moments(expert)[rule.experts]

    near = ((expert, own.nonzero()[:, 0], own) for expert, own in zip(experts, share.unbind(dim=1), strict=True))
    tasks = [(expert, rows, own[rows]) for expert, rows, own in near if len(rows)]
    for (expert, rows, own), moments in zip(tasks, map_parts(engine, at_rows, tasks), strict=True):
        faded = _blended(rule, view.context, moments, rows, own)
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
