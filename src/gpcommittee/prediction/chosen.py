"""Additive rules to a tolerance: only the experts that matter, group by group of nearby test points.

Each wave of groups is planned (pivots, candidates); the most telling expert of each point is evaluated, which bounds
the aggregated variance; then the experts that this leaves necessary are summed in their order. Points at which what
came out does not bear out what was assumed are done again, without pivots. Memory: plans within a share of the budget,
the factors of one group of experts, O(T).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Experts, Term, add, empty, finish, merge
from gpcommittee.aggregation.accumulator import choose
from gpcommittee.engines import Engine
from gpcommittee.experts import BaseFactor, Committee
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.group import (
    COARSE,
    INTERPOLATED,
    LEFT_OUT,
    Plan,
    evaluated_moments,
    interpolated_moments,
    make_plan,
)
from gpcommittee.prediction.landmarks import Landmarks, find_landmarks
from gpcommittee.prediction.nearby import Basis, nearby_groups
from gpcommittee.prediction.request import Request, StandardMoments
from gpcommittee.prediction.selection import (
    Known,
    always_needed,
    coarse,
    leads_best,
    misfit,
    needed,
    resolved,
)
from gpcommittee.progress import Reporter, Stage
from gpcommittee.records import FloatArray, IntArray, Moments
from gpcommittee.scratch import Scratch

WAVE_SHARE = 1 / 8
"""Share of the memory budget that plans may take."""

PLANNED_TOGETHER = 16
"""Groups planned before their memory is counted."""

PARTS = (2, 4)
"""Parts of the pivots at which experts of little influence are evaluated, in rising order."""

UNDECIDED = 0.25
"""Share of the tolerance that choosing the other of two equally certain experts may cost."""


@dataclass
class _Work:
    """A plan under way; changed by one task at a time."""

    plan: Plan
    best: Moments
    keep: Tensor
    total: Accumulator
    second: Term | None = None
    n_pivots: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def chosen_moments(
    rule: AdditiveRule,
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    tolerance: float,
) -> StandardMoments:
    """Mean and latent variance of an additive rule in standardised units, to a tolerance.

    Parameters
    ----------
    rule : AdditiveRule
    request : Request
    store : FactorStore
    engine : Engine
    reporter : Reporter
    tolerance : float
        Largest change against the sum over all experts: of the mean in predicted noisy standard deviations, of the
        variance at the rule's level relative to it.

    Returns
    -------
    mean, variance : ndarray, shape (n_points,)

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    outputs = (np.empty(len(request.X)), np.empty(len(request.X)))
    groups = nearby_groups(_spread(request))
    run = partial(_run, rule, request, store, engine, tolerance, outputs)
    with reporter.stage("predict", len(request.X)) as stage:
        again = run(groups, stage, interpolate=True)
        run(again, stage, interpolate=False)
    return outputs


def _run(
    rule: AdditiveRule,
    request: Request,
    store: FactorStore,
    engine: Engine,
    tolerance: float,
    outputs: StandardMoments,
    groups: Sequence[IntArray],
    stage: Stage,
    *,
    interpolate: bool,
) -> list[IntArray]:
    """Fill in the outputs; the points of each group that are to be done again."""
    again: list[IntArray] = []
    communication = store.communication(engine)
    landmarks = _kept_landmarks(rule.experts, store, engine)
    committee = request.committee

    def plan(rows: IntArray) -> Plan:
        with torch.no_grad():
            x = request.points(rows)
            return make_plan(committee, rule, communication, landmarks, rows, x, tolerance, interpolate=interpolate)

    for wave in _waves(groups, plan, engine, WAVE_SHARE * store.budget):
        works = [_begin(one) for one in wave]
        for factors in _portions(rule.experts, works, store, engine):
            list(engine.map(partial(_evaluate_best, committee, factors), works))
        list(engine.map(partial(_choose, rule, committee, communication, tolerance), works))
        for factors in _portions(rule.experts, works, store, engine):
            list(engine.map(partial(_sum, rule, committee, factors), works))
        end = partial(_finish, rule, committee, communication, tolerance, outputs)
        for work, missed in zip(works, engine.map(end, works), strict=True):
            stage.advance(len(work.plan.rows) - len(missed))
            if len(missed):
                again.append(missed)
    return again


def _spread(request: Request) -> FloatArray:
    """Test points in units of the kernel's lengthscales, where it has one for each input."""
    x = request.points(slice(None)).double().cpu().numpy()
    named = request.committee.kernel.natural_values(request.committee.hyperparameters.kernel)
    scales = [value.ravel() for name, value in named.items() if name.endswith("lengthscale")]
    same = [scale for scale in scales if len(scale) == x.shape[1]]
    return x / same[0] if same else x


def _kept_landmarks(kind: Experts, store: FactorStore, engine: Engine) -> Mapping[int, Landmarks]:
    if kind not in store.landmarks:
        first = 1 if kind is Experts.AUGMENTED else 0
        experts = range(first, store.committee.n_experts)
        store.landmarks[kind] = find_landmarks(store.committee, store.communication(engine), kind, experts, engine)
    return store.landmarks[kind]


def _waves(
    groups: Sequence[IntArray], plan: Callable[[IntArray], Plan], engine: Engine, limit: float
) -> Iterator[list[Plan]]:
    wave: list[Plan] = []
    for start in range(0, len(groups), PLANNED_TOGETHER):
        wave.extend(engine.map(plan, groups[start : start + PLANNED_TOGETHER]))
        if sum(one.n_bytes for one in wave) > limit:
            yield wave
            wave = []
    if wave:
        yield wave


def _begin(plan: Plan) -> _Work:
    reference = plan.evaluated.reference
    best = Moments(reference.mean.clone(), reference.var_latent.clone())
    return _Work(plan, best, plan.gains.new_empty(0), empty(plan.points.prior))


def _portions(
    kind: Experts, works: Sequence[_Work], store: FactorStore, engine: Engine
) -> Iterator[Mapping[int, Factor]]:
    """Factors of the candidates of some groups, as many at a time as the budget holds."""
    wanted = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(work.plan.experts for work in works)]))
    for group in store.groups(frozenset({kind})):
        experts = [expert for expert in group if expert in wanted]
        if experts:
            loaded = store.load(frozenset({kind}), experts, engine)
            yield loaded.augmented if kind is Experts.AUGMENTED else loaded.base


def _evaluate_best(committee: Committee, factors: Mapping[int, Factor], work: _Work) -> None:
    best, scratch = work.plan.best, Scratch()
    with torch.no_grad():
        for expert in np.unique(best):
            if int(expert) in factors:
                rows = torch.from_numpy(np.flatnonzero(best == expert))
                moments = evaluated_moments(committee, factors[int(expert)], work.plan.evaluated.at(rows), scratch)
                work.best.mean[rows], work.best.var_latent[rows] = moments.mean, moments.var_latent


def _choose(rule: AdditiveRule, committee: Committee, communication: BaseFactor, tolerance: float, work: _Work) -> None:
    plan = work.plan
    with torch.no_grad():
        context = plan.evaluated.context(rule, committee.noise_variance)
        known = Known(plan.evaluated.reference, work.best, context, misfit(communication))
        work.keep = needed(rule, plan.gains, known, LEFT_OUT * tolerance)
        best = torch.from_numpy(plan.experts[None, :] == plan.best[:, None])
        work.keep |= best
        for expert in always_needed(rule):
            work.keep[:, torch.from_numpy(plan.experts == expert)] = True
        if plan.basis is not None:
            work.keep |= work.keep.any(dim=0)
            work.n_pivots = _levels(rule, plan, plan.basis, known, tolerance)
        else:
            work.keep &= ~best


def _levels(rule: AdditiveRule, plan: Plan, basis: Basis, known: Known, tolerance: float) -> IntArray:
    """Pivots that each candidate is evaluated at: all, or a part of them."""
    levels = np.full(len(plan.experts), len(basis.pivots))
    variance = plan.points.reference.var_latent
    left = (basis.rest(variance) / variance[:, None]).amax(dim=0)
    for part in PARTS:
        n_pivots = -(-len(basis.pivots) // part)
        enough = coarse(rule, plan.gains, known, float(left[n_pivots - 1]), COARSE / len(PARTS) * tolerance)
        for expert in always_needed(rule):
            enough[torch.from_numpy(plan.experts == expert)] = False
        levels[enough.cpu().numpy()] = n_pivots
    return levels


def _sum(rule: AdditiveRule, committee: Committee, factors: Mapping[int, Factor], work: _Work) -> None:
    plan, scratch = work.plan, Scratch()
    best = plan.best
    with torch.no_grad():
        context = plan.points.context(rule, committee.noise_variance)
        weights = {} if plan.basis is None else {k: plan.basis.weights(k) for k in set(work.n_pivots.tolist())}
        for column, expert in enumerate(plan.experts.tolist()):
            if expert not in factors:
                continue
            rows = work.keep[:, column].nonzero()[:, 0]
            if plan.basis is None:
                own = torch.from_numpy(np.flatnonzero(best == expert))
                if len(rows) + len(own) > 0:
                    moments = _point_by_point(committee, factors[expert], work, rows, own, scratch)
                    _add(rule, work, moments, context, expert)
            elif len(rows) > 0:
                at = weights[int(work.n_pivots[column])]
                moments = interpolated_moments(committee, factors[expert], plan, at, scratch)
                _add(rule, work, moments, context, expert)


def _point_by_point(
    committee: Committee, factor: Factor, work: _Work, rows: Tensor, own: Tensor, scratch: Scratch
) -> Moments:
    """The expert's moments where it is needed, those known already where it is the best, the reference's elsewhere."""
    reference = work.plan.points.reference
    mean, variance = reference.mean.clone(), reference.var_latent.clone()
    if len(rows):
        found = evaluated_moments(committee, factor, work.plan.evaluated.at(rows), scratch)
        mean[rows], variance[rows] = found.mean, found.var_latent
    mean[own], variance[own] = work.best.mean[own], work.best.var_latent[own]
    return Moments(mean, variance)


def _add(rule: AdditiveRule, work: _Work, moments: Moments, context: Context, expert: int) -> None:
    new = add(rule, empty(context.prior_variance), moments, context, expert)
    if new.lead is not None and work.total.lead is not None and work.plan.basis is not None and leads_best(rule):
        lead = work.total.lead
        less = choose(new.lead.precision > lead.precision, lead, new.lead)
        work.second = less if work.second is None else choose(less.precision > work.second.precision, less, work.second)
    work.total = merge(work.total, new)


def _finish(
    rule: AdditiveRule,
    committee: Committee,
    communication: BaseFactor,
    tolerance: float,
    outputs: StandardMoments,
    work: _Work,
) -> IntArray:
    """Write the predictions of a group; the row numbers of those to be done again."""
    plan = work.plan
    with torch.no_grad():
        context = plan.points.context(rule, committee.noise_variance)
        moments = finish(rule, work.total, context)
        outputs[0][plan.rows] = moments.mean.double().cpu().numpy()
        outputs[1][plan.rows] = moments.var_latent.double().cpu().numpy()
        if plan.basis is None:
            return plan.rows[:0]
        rest = plan.basis.rest(plan.points.reference.var_latent)[:, -1]
        rest[plan.basis.pivots] = 0.0
        variance = rule.at_level(moments.var_latent, context)
        noise = committee.noise_variance
        fine = resolved(rule, rest, variance, noise, misfit(communication), INTERPOLATED * tolerance)
        fine &= ~_undecided(rule, work, context, rest, variance, tolerance)
        missed: IntArray = plan.rows[~fine.cpu().numpy()]
        return missed


def _undecided(
    rule: AdditiveRule, work: _Work, context: Context, rest: Tensor, variance: Tensor, tolerance: float
) -> Tensor:
    """Points at which the most certain expert may be another one than it seems, and that one's weight matters."""
    lead, second = work.total.lead, work.second
    if lead is None or second is None:
        return torch.zeros_like(rest, dtype=torch.bool)
    by_reference = 1 / rule.at_level(work.plan.points.reference.var_latent, context)
    precision = lead.precision + by_reference
    relative = rest * precision
    error = precision * (relative + 2 * relative.sqrt())
    close = lead.precision - second.precision <= error
    mean = work.plan.points.reference.mean
    change = (1 - lead.weight) * lead.precision - (1 - second.weight) * second.precision
    shift = (1 - lead.weight) * (lead.shift - lead.precision * mean) - (1 - second.weight) * (
        second.shift - second.precision * mean
    )
    noisy = variance + context.noise_variance if rule.level == "latent" else variance
    moved = (shift.abs() + change.abs() * noisy.sqrt()) * variance / noisy.sqrt()
    return close & (torch.maximum(change.abs() * variance, moved) > UNDECIDED * tolerance)
