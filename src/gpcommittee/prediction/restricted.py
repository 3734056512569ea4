"""NPAE over the experts that each test point chooses (Eqs. 7 and 8 of the paper), those most certain there.

Neighbouring points choose alike. So points are taken in groups of neighbours: each expert is solved for the points of
the group that chose it, each pair of experts multiplied for those that chose both, and a K x K system solved at each
point. 2 m^2 flops for each of a point's K experts and K^2 / 2 pairs, whatever the number of experts.

Augmented experts are those of the residual process given the communication set. All in float64: small differences of
large numbers are what is known of the experts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import (
    GRBCM,
    NPAE,
    RBCM,
    AdditiveRule,
    Aggregate,
    Communication,
    Context,
    Experts,
    combine,
    empty,
    finish,
    merge,
    single,
)
from gpcommittee.aggregation.rule import term_of
from gpcommittee.engines import Engine
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.experts.base import floor_variance
from gpcommittee.prediction.certain import most_certain
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.joint import joint_moments, see
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.prediction.npae import MATRICES_OF_EXPERTS
from gpcommittee.prediction.reference_view import ReferenceView, view
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.stream import additive_moments
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray

LARGEST_GROUP = 4096
"""Test points per group where memory allows: the more points choose a pair, the less its covariance costs each."""

SMALLEST_GROUP = 16
"""Test points per group below which a refusal serves better."""

GROUP_SHARE = 1 / 4
"""Share of the memory budget that one group may take beside the factors of its experts."""


def restricted_moments(
    rules: Sequence[NPAE], request: Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> list[StandardMoments]:
    """Mean, latent variance and dispersion, in standardised units, of rules over experts of one form, one per rule.

    Raises
    ------
    MemoryBudgetError
        If one group of test points and the factors of its experts exceed the budget.
    NotPositiveDefiniteError
        If an expert's covariance or the covariance of the experts' means cannot be factored.
    """
    if rules[0].augmented and store.committee.n_experts == 1:
        return additive_moments([Communication()] * len(rules), request, store, engine, reporter)
    if store.committee.kernel.dtype != torch.float64:
        store = store.doubled()
        request = replace(request, committee=store.committee)
    available = n_available(rules[0], store.committee.n_experts)
    found: dict[int, StandardMoments] = {}
    for takes_all in (True, False):
        some = {i: rule for i, rule in enumerate(rules) if (n_chosen(rule, available) == available) is takes_all}
        if some:
            moments = _moments(list(some.values()), request, store, engine, reporter, takes_all)
            found.update(zip(some, moments, strict=True))
    return [found[i] for i in range(len(rules))]


def n_available(rule: NPAE, n_experts: int) -> int:
    """Experts of a committee among which test points choose."""
    return n_experts - rule.augmented


def n_chosen(rule: NPAE, available: int) -> int:
    """Experts at each test point."""
    return available if rule.n_experts is None else min(rule.n_experts, available)


def _moments(
    rules: Sequence[NPAE],
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    takes_all: bool,
) -> list[StandardMoments]:
    needs = Needs.of(rules, store.committee.offsets, engine.n_workers)
    size = needs.group_size(store.budget)
    if takes_all:
        numbers = np.arange(store.committee.n_experts - needs.n_chosen, store.committee.n_experts)
        experts = np.broadcast_to(numbers, (len(request.X), needs.n_chosen))
    else:
        experts = most_certain(rules[0].experts, needs.n_chosen, request, store, engine, reporter)
    outputs = [empty_moments(len(request.X)) for _ in rules]
    with reporter.stage("predict (NPAE)", len(request.X), unit="points") as stage:
        for rows in groups_of_experts(request.spread(), experts, size, needs, store.budget):
            for output, aggregate in zip(outputs, _of_group(rules, request, store, engine, rows, experts), strict=True):
                write_moments(output, rows, aggregate)
            stage.advance(len(rows))
    return outputs


@dataclass(frozen=True)
class Needs:
    """What a group of test points takes.

    Attributes
    ----------
    n_chosen : int
        Experts at each test point.
    rows : ndarray, shape (n_experts,)
    coupled : float
        Communication rows that augmented experts know.
    n_workers : int
    """

    n_chosen: int
    rows: FloatArray
    coupled: float
    n_workers: int

    @classmethod
    def of(cls, rules: Sequence[NPAE], offsets: IntArray, n_workers: int) -> Needs:
        """Of rules over experts of one form, taken together."""
        rows = np.diff(offsets).astype(float)
        chosen = max(n_chosen(rule, n_available(rule, len(rows))) for rule in rules)
        return cls(chosen, rows, float(rows[0]) if rules[0].augmented else 0.0, n_workers)

    def group_bytes(self, n_points: float) -> float:
        """Of a group of so many test points, on all workers."""
        largest, k = float(self.rows.max()), self.n_chosen
        per_point = k * largest + (1 + k) * self.coupled + MATRICES_OF_EXPERTS * k**2
        per_worker = n_points * (3 * largest + self.coupled) + 2 * largest**2
        return 8.0 * (n_points * per_point + self.n_workers * per_worker)

    def factor_bytes(self, experts: IntArray) -> float:
        """Of the factors of these experts."""
        rows = self.rows[experts]
        return 8.0 * float((rows * (rows + self.coupled)).sum())

    def group_size(self, budget: float) -> int:
        """Test points per group, a power of two: the most that take their share of the budget.

        Raises
        ------
        MemoryBudgetError
            If even the smallest group does not fit beside the factors of one point's experts.
        """
        size = LARGEST_GROUP
        while size > SMALLEST_GROUP and self.group_bytes(size) > GROUP_SHARE * budget:
            size //= 2
        needed = self.group_bytes(size) + self.factor_bytes(np.argsort(-self.rows)[: self.n_chosen])
        if needed > budget:
            raise MemoryBudgetError(
                f"NPAE over {self.n_chosen} experts at each test point needs {needed / 2**30:.3g} GiB for their "
                f"factors and {size} test points; the budget is {budget / 2**30:.3g} GiB. Raise memory_budget, or "
                "lower n_experts of the rule."
            )
        return size


def groups_of_experts(
    spread: FloatArray, experts: IntArray, size: int, needs: Needs, budget: float
) -> Iterator[IntArray]:
    """Groups of neighbouring points whose experts' factors fit the budget together.

    Parameters
    ----------
    spread : ndarray, shape (n_points, n_features)
        Test points in the kernel's metric.
    experts : ndarray of int64, shape (n_points, n_chosen)
    size : int
        Most points of a group.
    needs : Needs
    budget : float
        Bytes.

    Yields
    ------
    ndarray of int64, shape (n_group,)
        Numbers of the points.
    """
    waiting = nearby_groups(spread, size)[::-1]
    while waiting:
        rows = waiting.pop()
        if len(rows) > 1 and needs.group_bytes(size) + needs.factor_bytes(np.unique(experts[rows])) > budget:
            halves = nearby_groups(spread[rows], -(-len(rows) // 2))
            waiting += [rows[half] for half in reversed(halves)]
        else:
            yield rows


def _of_group(
    rules: Sequence[NPAE], request: Request, store: FactorStore, engine: Engine, rows: IntArray, experts: IntArray
) -> list[Aggregate]:
    committee, kind = store.committee, rules[0].experts
    same: AdditiveRule = GRBCM() if kind is Experts.AUGMENTED else RBCM()
    union = np.unique(experts[rows])
    factors = store.load(frozenset({kind}), union.tolist(), engine)
    known: Mapping[int, Factor] = factors.augmented if kind is Experts.AUGMENTED else factors.base
    with torch.no_grad():
        (at,) = engine.map(partial(view, committee, same.reference, factors.communication), [request.points(rows)])
        chosen = torch.from_numpy(experts[rows]).to(at.x.device)
        seen = dict(zip(union.tolist(), engine.map(partial(see, committee, known, at, chosen), union), strict=True))
        means, covariance = joint_moments(committee, seen, chosen, engine)
        scales = at.prior.new_tensor([[known[e].dispersion, known[e].relative_noise] for e in union.tolist()])
        logs = scales.log()[torch.searchsorted(torch.from_numpy(union).to(at.x.device), chosen)]
        context = replace(at.context(same, committee.noise_variance), own_variances=committee.own is not None)
        return [_aggregate(rule, same, at, context, means, covariance, logs) for rule in rules]


def _aggregate(
    rule: NPAE,
    same: AdditiveRule,
    at: ReferenceView,
    context: Context,
    means: Tensor,
    covariance: Tensor,
    logs: Tensor,
) -> Aggregate:
    k = n_chosen(rule, means.shape[1])
    means, covariance = means[:, :k], covariance[:, :k, :k]
    known = at.reference
    moments, _ = combine(rule, means, covariance, known.var_latent)
    left = floor_variance(known.var_latent - covariance.diagonal(dim1=1, dim2=2).mT, at.prior)
    scales = _scales(same, context, known.mean + means.mT, left, logs.permute(1, 2, 0)[:k])
    return Aggregate(known.mean + moments.mean, moments.var_latent, *scales)


def _scales(
    rule: AdditiveRule, context: Context, means: Tensor, variances: Tensor, logs: Tensor
) -> tuple[Tensor, Tensor]:
    """Dispersion and relative noise of an additive rule over the same experts, which are rows, shape (n_points,)."""
    total = empty(context.prior_variance)
    for mean, variance, log in zip(means, variances, logs, strict=True):
        total = merge(total, single(term_of(rule, mean, variance, log[0], log[1], context, -1)))
    outcome = finish(rule, total, context)
    return outcome.dispersion, outcome.relative_noise
