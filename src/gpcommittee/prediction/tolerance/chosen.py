"""Additive rules to a tolerance: far experts compressed, near ones evaluated, the farthest left out.

Test points are taken in groups of nearby ones. What a group sees of the committee takes no factors; then the factors of
near experts are taken in turn, for all groups that wait for them. Memory: what some groups see within a share of the
budget, the factors of one group of experts, O(T).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from gpcommittee.aggregation import Accumulator, AdditiveRule, finish, merge
from gpcommittee.engines import Engine
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.factors import EXPERT_BLOCK, FactorStore
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.tolerance.certainty import Extent
from gpcommittee.prediction.tolerance.compressing import far_field
from gpcommittee.prediction.tolerance.looking import Scene, look
from gpcommittee.prediction.tolerance.sight import Sight, sum_evaluated
from gpcommittee.progress import Reporter
from gpcommittee.records import IntArray

GROUP = 1024
"""Test points of a group, at most."""

HELD_SHARE = 1 / 8
"""Share of the memory budget for what groups see that wait for factors."""

TOGETHER = 16
"""Groups that look before their memory is counted."""


def chosen_moments(
    rule: AdditiveRule,
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    tolerance: float,
) -> StandardMoments:
    """Mean, latent variance, dispersion and relative noise of an additive rule in standardised units, to a tolerance.

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
    mean, variance, dispersion, relative_noise : ndarray, shape (n_points,)

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    outputs = empty_moments(len(request.X))
    groups = nearby_groups(request.spread(), GROUP)
    scene = _scene(rule, store, engine, reporter)
    with reporter.stage("predict", 2 * len(request.X), unit="steps") as stage:
        for waiting in _batches(scene, request, groups, store.budget, engine, tolerance):
            stage.advance(sum(len(one.rows) for one in waiting))
            _evaluate(scene, store, engine, waiting)
            for one in waiting:
                context = one.sight.points.context(rule, store.committee.noise_variance)
                write_moments(outputs, one.rows, finish(rule, one.total, context))
                stage.advance(len(one.rows))
    return outputs


def _scene(rule: AdditiveRule, store: FactorStore, engine: Engine, reporter: Reporter) -> Scene:
    """The committee with its experts compressed, which is done once, SciPy's factorisations on one thread each."""
    if rule.experts not in store.far_fields:
        with threadpool_limits(limits=1, user_api="blas"):
            store.far_fields[rule.experts] = far_field(rule, store, engine, reporter)
    field = store.far_fields[rule.experts]
    return Scene(store.committee, rule, store.communication(engine), store.boxes, field, Extent.of(rule, field.known))


@dataclass
class _Waiting:
    """A group of test points that waits for factors.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_points,)
        Row numbers in the request.
    sight : Sight
    total : Accumulator
        Of the experts summed so far.
    """

    rows: IntArray
    sight: Sight
    total: Accumulator


def _batches(
    scene: Scene, request: Request, groups: Sequence[IntArray], budget: float, engine: Engine, tolerance: float
) -> Iterator[list[_Waiting]]:
    """Groups with what they see, as many at a time as may be held."""

    def see(rows: IntArray) -> _Waiting:
        sight = look(scene, request.points(rows), tolerance)
        return _Waiting(rows, sight, sight.total)

    held: list[_Waiting] = []
    for start in range(0, len(groups), TOGETHER):
        held.extend(engine.map(see, groups[start : start + TOGETHER]))
        if sum(one.sight.n_bytes for one in held) > HELD_SHARE * budget:
            yield held
            held = []
    if held:
        yield held


def _evaluate(scene: Scene, store: FactorStore, engine: Engine, waiting: Sequence[_Waiting]) -> None:
    """Add near experts to the sums, as many at a time as the budget holds factors of."""
    kind = scene.rule.experts
    wanted = np.unique(np.concatenate([one.sight.experts for one in waiting]))
    for group in store.groups(frozenset({kind})):
        some = np.intersect1d(wanted, group).tolist()
        if some:
            _add(scene, store.of_kind(kind, some, engine), engine, waiting)


def _add(scene: Scene, factors: Mapping[int, Factor], engine: Engine, waiting: Sequence[_Waiting]) -> None:
    """Add the experts whose factors are at hand, block by block in their order."""
    tasks = [(one, places) for one in waiting for places in _blocks(one.sight.experts, factors)]
    sums = engine.map(lambda task: sum_evaluated(scene.committee, scene.rule, factors, task[0].sight, task[1]), tasks)
    for (one, _), total in zip(tasks, sums, strict=True):
        one.total = merge(one.total, total)


def _blocks(experts: IntArray, factors: Mapping[int, Factor]) -> list[IntArray]:
    """Places of the experts whose factors are at hand, by blocks of ``EXPERT_BLOCK`` consecutive numbers."""
    places = np.flatnonzero(np.isin(experts, np.fromiter(factors, dtype=np.int64, count=len(factors))))
    block = experts[places] // EXPERT_BLOCK
    return np.split(places, np.flatnonzero(np.diff(block)) + 1) if len(places) else []
