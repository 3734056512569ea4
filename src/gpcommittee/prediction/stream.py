"""One pass over experts and test points: tasks over chunks of test points and blocks of experts.

Each task computes the moments of one block of experts at one chunk of test points and returns their sums, an
accumulator per rule; sums are merged in the order of the experts. Memory: the factors of one group of experts, a few
chunks in flight, and O(T) numbers per rule; never experts x test points. Where the engine takes experts in batches, a
task computes its experts together, at more test points; they are summed in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Reference, add, empty, finish, merge
from gpcommittee.engines import Engine, for_tasks_and_parts
from gpcommittee.prediction.factors import EXPERT_BLOCK, Factors, FactorStore, expert_blocks
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.prediction.together import points_together
from gpcommittee.prediction.view import View
from gpcommittee.progress import Reporter

CHUNK = 1024
"""Test points per task of experts one by one. Fixed, so that the numbers do not depend on the number of workers."""


@dataclass(frozen=True)
class _Task:
    chunk: slice
    block: range


@dataclass(frozen=True)
class Sums:
    """Accumulators of every rule at some test points, and what finishing them takes.

    Attributes
    ----------
    context : Context
    totals : sequence of Accumulator
        One per rule.
    """

    context: Context
    totals: Sequence[Accumulator]


def additive_moments(
    rules: Sequence[AdditiveRule], request: Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> list[StandardMoments]:
    """Mean, latent variance, dispersion and relative noise of additive rules in standardised units, one per rule.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    outputs = [empty_moments(len(request.X)) for _ in rules]
    for chunk, sums in chunk_sums(rules, request, store, engine, reporter):
        for rule, total, output in zip(rules, sums.totals, outputs, strict=True):
            write_moments(output, chunk, finish(rule, total, sums.context))
    return outputs


def chunk_sums(
    rules: Sequence[AdditiveRule],
    request: Request,
    store: FactorStore,
    engine: Engine,
    reporter: Reporter,
    first: int = 0,
) -> Iterator[tuple[slice, Sums]]:
    """Sums over the experts, from a first one, at each chunk of the test points.

    Yields
    ------
    chunk : slice
        In their order.
    sums : Sums

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    waiting: dict[int, Sums] = {}
    kinds = frozenset(rule.experts for rule in rules)
    groups = list(store.groups(kinds, first))
    chunks = request.chunks(_chunk_size(request, engine.batch_memory))
    n_tasks = len(chunks) * sum(len(expert_blocks(group)) for group in groups)
    with reporter.stage("predict", n_tasks, unit="steps") as stage:
        for group in groups:
            tasks = [_Task(chunk, block) for chunk in chunks for block in expert_blocks(group)]
            for task, part in _of_blocks(rules, request, store.load(kinds, group, engine), tasks, engine):
                start = task.chunk.start
                known = merge_sums(waiting.pop(start), part) if start in waiting else part
                if task.block.stop == groups[-1].stop:
                    yield task.chunk, known
                else:
                    waiting[start] = known
                stage.advance()


def _of_blocks(
    rules: Sequence[AdditiveRule], request: Request, factors: Factors, tasks: Sequence[_Task], engine: Engine
) -> Iterator[tuple[_Task, Sums]]:
    """Tasks with their sums in order; the factors of the group are let go with the last of them."""
    outer, inner = for_tasks_and_parts(engine, len(tasks))
    yield from zip(tasks, outer.map(partial(_of_block, rules, request, factors, inner), tasks), strict=True)


def _of_block(rules: Sequence[AdditiveRule], request: Request, factors: Factors, engine: Engine, task: _Task) -> Sums:
    with_communication = any(rule.reference is Reference.COMMUNICATION for rule in rules)
    with torch.no_grad():
        view = View(request.committee, factors, request.points(task.chunk), with_communication)
        if engine.batch_memory:
            view.prepare(task.block, engine.batch_memory)
        elif engine.n_workers > 1:
            view.prepare_apart(task.block, engine)
        return _sum_block(rules, view, task.block)


def _chunk_size(request: Request, batch_memory: float) -> int:
    return points_together(request.committee, EXPERT_BLOCK, batch_memory) if batch_memory else CHUNK


def _sum_block(rules: Sequence[AdditiveRule], view: View, block: range) -> Sums:
    totals = [empty(view.context.prior_variance)] * len(rules)
    for expert in block:
        moments = view.moments(expert)
        totals = [
            add(rule, total, moments[rule.experts], view.context, view.number(expert))
            if rule.experts in moments
            else total
            for rule, total in zip(rules, totals, strict=True)
        ]
    return Sums(view.context, totals)


def merge_sums(first: Sums, second: Sums) -> Sums:
    """Sums of two sets of experts at the same points, those of the first before those of the second."""
    return replace(second, totals=[merge(a, b) for a, b in zip(first.totals, second.totals, strict=True)])
