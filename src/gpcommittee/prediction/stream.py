"""Additive rules in one pass: tasks over chunks of test points and blocks of experts.

Each task computes the moments of one block of experts at one chunk of test points and returns accumulators of the
chunk's size, which are merged in the order of the experts. Memory: the factors of one group of experts, a few chunks in
flight, and O(T) numbers per rule; never experts x test points. Where the engine takes experts in batches, a task
computes its experts together, at more test points; they are summed in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Reference, add, empty, finish, merge
from gpcommittee.engines import Engine
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
class _Sums:
    """Accumulators of every rule at one chunk, and what finishing them takes."""

    context: Context
    totals: Sequence[Accumulator]


def additive_moments(
    rules: Sequence[AdditiveRule], request: Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> list[StandardMoments]:
    """Mean, latent variance and dispersion of additive rules, in standardised units, one result per rule.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    kinds = frozenset(rule.experts for rule in rules)
    outputs = [empty_moments(len(request.X)) for _ in rules]
    partial_sums: dict[int, _Sums] = {}
    groups = list(store.groups(kinds))
    chunks = request.chunks(_chunk_size(request, engine.batch_memory))
    with reporter.stage("predict", len(chunks) * sum(len(expert_blocks(group)) for group in groups)) as stage:
        for group in groups:
            tasks = [_Task(chunk, block) for chunk in chunks for block in expert_blocks(group)]
            for task, part in _block_sums(rules, request, store.load(kinds, group, engine), tasks, engine):
                sums = _merge(partial_sums.pop(task.chunk.start, None), part)
                if task.block.stop == groups[-1].stop:
                    _finish_chunk(rules, sums, outputs, task.chunk)
                else:
                    partial_sums[task.chunk.start] = sums
                stage.advance()
    return outputs


def _block_sums(
    rules: Sequence[AdditiveRule], request: Request, factors: Factors, tasks: Sequence[_Task], engine: Engine
) -> Iterator[tuple[_Task, _Sums]]:
    """Tasks with their sums in order; the factors of the group are let go with the last of them."""
    yield from zip(
        tasks, engine.map(partial(_sum_block, rules, request, factors, engine.batch_memory), tasks), strict=True
    )


def _chunk_size(request: Request, batch_memory: float) -> int:
    return points_together(request.committee, EXPERT_BLOCK, batch_memory) if batch_memory else CHUNK


def _sum_block(
    rules: Sequence[AdditiveRule], request: Request, factors: Factors, batch_memory: float, task: _Task
) -> _Sums:
    with_communication = any(rule.reference is Reference.COMMUNICATION for rule in rules)
    with torch.no_grad():
        view = View(request.committee, factors, request.points(task.chunk), with_communication)
        if batch_memory:
            view.prepare(task.block, batch_memory)
        totals = [empty(view.context.prior_variance)] * len(rules)
        for expert in task.block:
            moments = view.moments(expert)
            totals = [
                add(rule, total, moments[rule.experts], view.context, expert) if rule.experts in moments else total
                for rule, total in zip(rules, totals, strict=True)
            ]
    return _Sums(view.context, totals)


def _merge(first: _Sums | None, second: _Sums) -> _Sums:
    if first is None:
        return second
    return replace(second, totals=[merge(a, b) for a, b in zip(first.totals, second.totals, strict=True)])


def _finish_chunk(rules: Sequence[AdditiveRule], sums: _Sums, outputs: Sequence[StandardMoments], chunk: slice) -> None:
    for rule, total, output in zip(rules, sums.totals, outputs, strict=True):
        write_moments(output, chunk, finish(rule, total, sums.context))
