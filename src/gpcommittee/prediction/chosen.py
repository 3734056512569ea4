"""Additive rules to a tolerance: only the experts that matter, down a tree of nearby test points.

At a node every candidate is evaluated at a sample of the points; what is settled by that (left out, or taken from the
sample's pivots) is summed at all points of the node, and the others go on to its parts. At the leaves each is evaluated
where it is needed. Memory: the samples of some nodes within a share of the budget, the factors of one group of experts,
O(T).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import torch

from gpcommittee.aggregation import Accumulator, AdditiveRule, Experts, finish, merge
from gpcommittee.engines import Engine
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.factors import EXPERT_BLOCK, FactorStore
from gpcommittee.prediction.landmarks import Landmarks, estimated_gain, find_landmarks
from gpcommittee.prediction.leaf import Leaf, Seen, evaluate_best, make_leaf, sum_needed
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.prediction.node import Node, Sample, add_from_pivots, children, root, see, take_sample
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.selection import candidates, misfit
from gpcommittee.prediction.settle import settle
from gpcommittee.progress import Reporter, Stage
from gpcommittee.records import FloatArray, IntArray

LARGEST_NODE = 4096
"""Test points of a node at the root."""

PARTS = 4
"""Parts into which a node's points are divided."""

LARGEST_LEAF = 1024
"""Test points up to which a node is not divided any more."""

SAMPLES_SHARE = 1 / 8
"""Share of the memory budget that samples, or leaves, may take."""

TOGETHER = 16
"""Nodes sampled before their memory is counted."""

SETTLED = 0.35
"""Share of the tolerance for all that is left out on the way to the leaves; as much for what is taken from pivots."""

LEVELS = 2
"""Levels of nodes between which that share is divided."""


class _Sized(Protocol):
    @property
    def n_bytes(self) -> int: ...


S = TypeVar("S", bound=_Sized)


@dataclass(frozen=True)
class _Job:
    """What all steps share."""

    rule: AdditiveRule
    request: Request
    store: FactorStore
    engine: Engine
    tolerance: float

    def with_factors(self, experts: Iterable[IntArray], work: Callable[[Mapping[int, Factor]], None]) -> None:
        """Do some work with the factors of these experts, as many at a time as the budget holds."""
        kind = self.rule.experts
        wanted = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *experts]))
        for group in self.store.groups(frozenset({kind})):
            some = [expert for expert in group if expert in wanted]
            if some:
                work(self._load(kind, some))

    def _load(self, kind: Experts, experts: Sequence[int]) -> Mapping[int, Factor]:
        loaded = self.store.load(frozenset({kind}), experts, self.engine)
        return loaded.augmented if kind is Experts.AUGMENTED else loaded.base

    def batches(self, make: Callable[[Node], S], nodes: Sequence[Node]) -> Iterator[list[S]]:
        """Nodes made ready, as many at a time as may be held."""
        held: list[S] = []
        for start in range(0, len(nodes), TOGETHER):
            held.extend(self.engine.map(make, nodes[start : start + TOGETHER]))
            if sum(one.n_bytes for one in held) > SAMPLES_SHARE * self.store.budget:
                yield held
                held = []
        if held:
            yield held


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
    job = _Job(rule, request, store, engine, tolerance)
    outputs = empty_moments(len(request.X))
    spread = request.spread()
    landmarks = _kept_landmarks(rule.experts, store, engine)
    experts = np.array(sorted(landmarks), dtype=np.int64)
    like = store.communication(engine).lower
    nodes = [root(rows, experts, like) for rows in nearby_groups(spread, LARGEST_NODE)]
    leaves: list[Node] = []
    with reporter.stage("predict", sum(map(_steps, nodes)), unit="steps") as stage:
        while nodes:
            settled = _settled(job, landmarks, nodes, stage)
            leaves += [node for node in settled if len(node.rows) <= LARGEST_LEAF]
            nodes = [part for node in settled if len(node.rows) > LARGEST_LEAF for part in _parts(node, spread)]
        _finish_leaves(job, landmarks, leaves, outputs, stage)
    return outputs


def _steps(node: Node) -> int:
    """Points times the nodes that each of them goes through, its leaf included."""
    levels, size = 2, len(node.rows)
    while size > LARGEST_LEAF:
        levels, size = levels + 1, -(-size // PARTS)
    return levels * len(node.rows)


def _parts(node: Node, spread: FloatArray) -> list[Node]:
    return children(node, nearby_groups(spread[node.rows], -(-len(node.rows) // PARTS)))


def _kept_landmarks(kind: Experts, store: FactorStore, engine: Engine) -> Mapping[int, Landmarks]:
    if kind not in store.landmarks:
        first = 1 if kind is Experts.AUGMENTED else 0
        experts = range(first, store.committee.n_experts)
        store.landmarks[kind] = find_landmarks(store.committee, store.communication(engine), kind, experts, engine)
    return store.landmarks[kind]


@dataclass(frozen=True)
class _Try:
    """A node, and its sample where it has one."""

    node: Node
    sample: Sample | None

    @property
    def n_bytes(self) -> int:
        return 0 if self.sample is None else self.sample.n_bytes


def _settled(job: _Job, landmarks: Mapping[int, Landmarks], nodes: Sequence[Node], stage: Stage) -> list[Node]:
    """The nodes with those experts in the sum that their samples settle."""
    done: list[Node] = []
    for tries in job.batches(partial(_sampled, job, landmarks), nodes):
        samples = [one.sample for one in tries if one.sample is not None]
        job.with_factors((sample.node.experts for sample in samples), partial(_see, job, samples))
        allowance = SETTLED / LEVELS * job.tolerance
        decide = partial(settle, job.rule, noise_variance=job.request.committee.noise_variance, allowance=allowance)
        decisions = list(job.engine.map(decide, samples))
        chosen = [
            sample.node.experts[each.from_pivots.numpy()] for sample, each in zip(samples, decisions, strict=True)
        ]
        totals = [sample.node.total for sample in samples]
        job.with_factors(chosen, partial(_sum, job, partial(_from_pivots, job, samples, chosen), chosen, totals))
        settled = iter(
            replace(sample.node, total=total, experts=sample.node.experts[each.open.numpy()])
            for sample, total, each in zip(samples, totals, decisions, strict=True)
        )
        done += [one.node if one.sample is None else next(settled) for one in tries]
        stage.advance(sum(len(one.node.rows) for one in tries))
    return done


def _sampled(job: _Job, landmarks: Mapping[int, Landmarks], node: Node) -> _Try:
    committee, communication = job.request.committee, job.store.communication(job.engine)
    with torch.no_grad():
        sample = take_sample(committee, job.rule, communication, node, job.request.points(node.rows))
        if sample is None:
            return _Try(node, None)
        if node.total.count == 0:
            at = sample.sample
            gains = estimated_gain(committee, landmarks, node.experts, at)
            context = at.context(job.rule, committee.noise_variance)
            matter = candidates(job.rule, gains, at.reference, context, misfit(communication), job.tolerance)
            node = replace(node, experts=node.experts[matter.numpy()])
        return _Try(node, None if sample.rough or len(node.experts) == 0 else sample.of(node))


def _blocks(experts: IntArray, factors: Mapping[int, Factor]) -> list[IntArray]:
    """Places of the experts whose factors are at hand, by blocks of ``EXPERT_BLOCK`` consecutive numbers."""
    places = np.flatnonzero(np.isin(experts, np.fromiter(factors, dtype=np.int64, count=len(factors))))
    block = experts[places] // EXPERT_BLOCK
    return np.split(places, np.flatnonzero(np.diff(block)) + 1) if len(places) else []


def _see(job: _Job, samples: Sequence[Sample], factors: Mapping[int, Factor]) -> None:
    tasks = [(sample, block) for sample in samples for block in _blocks(sample.node.experts, factors)]
    list(job.engine.map(lambda task: see(job.request.committee, factors, *task), tasks))


def _sum(
    job: _Job,
    part: Callable[[Mapping[int, Factor], int, IntArray], Accumulator],
    experts: Sequence[IntArray],
    totals: list[Accumulator],
    factors: Mapping[int, Factor],
) -> None:
    """Add to each total its experts whose factors are at hand, block by block in their order."""
    tasks = [(i, places) for i, of_total in enumerate(experts) for places in _blocks(of_total, factors)]
    sums = job.engine.map(lambda task: part(factors, *task), tasks)
    for (i, _), total in zip(tasks, sums, strict=True):
        totals[i] = merge(totals[i], total)


def _from_pivots(
    job: _Job,
    samples: Sequence[Sample],
    chosen: Sequence[IntArray],
    factors: Mapping[int, Factor],
    i: int,
    places: IntArray,
) -> Accumulator:
    return add_from_pivots(job.request.committee, job.rule, factors, samples[i], chosen[i][places])


def _needed(job: _Job, seen: Sequence[Seen], factors: Mapping[int, Factor], i: int, places: IntArray) -> Accumulator:
    return sum_needed(job.request.committee, job.rule, factors, seen[i], places)


def _finish_leaves(
    job: _Job, landmarks: Mapping[int, Landmarks], nodes: Sequence[Node], outputs: StandardMoments, stage: Stage
) -> None:
    committee, communication = job.request.committee, job.store.communication(job.engine)

    def make(node: Node) -> Leaf:
        with torch.no_grad():
            points = job.request.points(node.rows)
            return make_leaf(committee, job.rule, communication, landmarks, node, points)

    misfits = misfit(communication)
    for leaves in job.batches(make, nodes):
        seen = [Seen.begin(leaf) for leaf in leaves]
        wanted = [leaf.node.experts for leaf in leaves]
        job.with_factors(wanted, partial(_for_each, job.engine, partial(evaluate_best, committee), seen))
        list(job.engine.map(lambda one: one.choose(job.rule, committee.noise_variance, misfits, job.tolerance), seen))
        totals = [leaf.node.total for leaf in leaves]
        job.with_factors(wanted, partial(_sum, job, partial(_needed, job, seen), wanted, totals))
        for leaf, total in zip(leaves, totals, strict=True):
            context = leaf.points.context(job.rule, committee.noise_variance)
            write_moments(outputs, leaf.node.rows, finish(job.rule, total, context))
            stage.advance(len(leaf.node.rows))


def _for_each(
    engine: Engine,
    work: Callable[[Mapping[int, Factor], Seen], None],
    seen: Sequence[Seen],
    factors: Mapping[int, Factor],
) -> None:
    list(engine.map(partial(work, factors), seen))
