"""Predictions of several rules in one pass: tasks over chunks of test points and blocks of experts.

Each task computes the moments of one block of experts at one chunk of test points and returns accumulators of the
chunk's size, which are merged in the order of the experts. Memory: the factors of one group of experts, a few chunks in
flight, and O(T) numbers per rule; never experts x test points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, Context, Experts, Reference, Rule, add, empty, finish, merge
from gpcommittee.data import restore_mean, restore_variance, standardise_inputs
from gpcommittee.engines import Engine
from gpcommittee.experts import Committee, Projection, augmented_moments, base_mean, base_moments, project
from gpcommittee.prediction.factors import Factors, FactorStore, expert_blocks
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Moments, Prediction, Standardisation

CHUNK = 1024
"""Test points per task. Fixed, so that the numbers do not depend on the number of workers."""


@dataclass(frozen=True)
class _Request:
    """What is predicted: rules at the rows of ``X``, in original units."""

    committee: Committee
    scaling: Standardisation
    X: FloatArray
    rules: Sequence[Rule]

    @property
    def chunks(self) -> list[slice]:
        return [slice(start, start + CHUNK) for start in range(0, len(self.X), CHUNK)]

    @property
    def kinds(self) -> frozenset[Experts]:
        return frozenset(rule.experts for rule in self.rules)

    def points(self, chunk: slice) -> Tensor:
        return self.committee.kernel.tensor(standardise_inputs(self.X[chunk], self.scaling))


@dataclass(frozen=True)
class _Task:
    chunk: slice
    block: range


@dataclass(frozen=True)
class _Sums:
    """Accumulators of every rule at one chunk, and what finishing them takes."""

    context: Context
    totals: Sequence[Accumulator]


def predict_rules(
    store: FactorStore,
    scaling: Standardisation,
    X: FloatArray,
    rules: Sequence[Rule],
    engine: Engine,
    reporter: Reporter,
    *,
    mean_only: bool = False,
) -> list[Prediction]:
    """Predictions of several rules at the same test points.

    Parameters
    ----------
    store : FactorStore
        Of the fitted committee.
    scaling : Standardisation
    X : ndarray, shape (n_points, n_features)
        Test inputs in their original units.
    rules : sequence of Rule
    engine : Engine
    reporter : Reporter
    mean_only : bool
        Leave out the variances, and the work that only they need.

    Returns
    -------
    list of Prediction
        One per rule, in their order, in the target's units.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    request = _Request(store.committee, scaling, X, rules)
    if mean_only and all(_mean_is_communication(rule, store.committee.n_experts) for rule in rules):
        return [_communication_mean(request, store, engine)] * len(rules)
    moments = _stream(request, store, engine, reporter)
    if mean_only:
        return [Prediction(restore_mean(mean, scaling), None, None) for mean, _ in moments]
    return [_in_target_units(mean, variance, store.committee.noise_variance, scaling) for mean, variance in moments]


def _stream(
    request: _Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> list[tuple[FloatArray, FloatArray]]:
    """Mean and latent variance of every rule, in standardised units."""
    outputs = [(np.empty(len(request.X)), np.empty(len(request.X))) for _ in request.rules]
    partial_sums: dict[int, _Sums] = {}
    groups = list(store.groups(request.kinds))
    with reporter.stage("predict", len(request.chunks) * sum(len(expert_blocks(group)) for group in groups)) as stage:
        for group in groups:
            work = partial(_sum_block, request, store.load(request.kinds, group, engine))
            tasks = [_Task(chunk, block) for chunk in request.chunks for block in expert_blocks(group)]
            for task, part in zip(tasks, engine.map(work, tasks), strict=True):
                sums = _merge(partial_sums.pop(task.chunk.start, None), part)
                if task.block.stop == groups[-1].stop:
                    _finish_chunk(request.rules, sums, outputs, task.chunk)
                else:
                    partial_sums[task.chunk.start] = sums
                stage.advance()
    return outputs


def _sum_block(request: _Request, factors: Factors, task: _Task) -> _Sums:
    committee = request.committee
    with torch.no_grad():
        x = request.points(task.chunk)
        prior = committee.prior_variance(x)
        projection = _projection(request, factors, x, prior)
        context = Context(prior, projection.moments if projection else None, committee.noise_variance)
        totals = [empty(prior)] * len(request.rules)
        for expert in task.block:
            moments = _expert_moments(committee, factors, projection, expert, x, prior)
            totals = [
                add(rule, total, moments[rule.experts], context, expert) if rule.experts in moments else total
                for rule, total in zip(request.rules, totals, strict=True)
            ]
    return _Sums(context, totals)


def _projection(request: _Request, factors: Factors, x: Tensor, prior: Tensor) -> Projection | None:
    if any(rule.reference is Reference.COMMUNICATION for rule in request.rules):
        return project(request.committee, factors.communication, x, prior)
    return None


def _expert_moments(
    committee: Committee, factors: Factors, projection: Projection | None, expert: int, x: Tensor, prior: Tensor
) -> Mapping[Experts, Moments]:
    """Moments of one expert in each form that has a factor; the communication expert's projection serves both."""
    moments: dict[Experts, Moments] = {}
    if expert in factors.base and projection is not None and expert == 0:
        moments[Experts.BASE] = projection.moments
    elif expert in factors.base:
        moments[Experts.BASE] = base_moments(committee, factors.base[expert], x, prior)
    if expert in factors.augmented and projection is not None:
        moments[Experts.AUGMENTED] = augmented_moments(committee, factors.augmented[expert], projection, x, prior)
    return moments


def _merge(first: _Sums | None, second: _Sums) -> _Sums:
    if first is None:
        return second
    return replace(second, totals=[merge(a, b) for a, b in zip(first.totals, second.totals, strict=True)])


def _finish_chunk(
    rules: Sequence[Rule], sums: _Sums, outputs: Sequence[tuple[FloatArray, FloatArray]], chunk: slice
) -> None:
    for rule, total, (mean, variance) in zip(rules, sums.totals, outputs, strict=True):
        moments = finish(rule, total, sums.context)
        mean[chunk] = moments.mean.double().cpu().numpy()
        variance[chunk] = moments.var_latent.double().cpu().numpy()


def _mean_is_communication(rule: Rule, n_experts: int) -> bool:
    """Whether the rule's mean is the communication expert's, which takes no variance."""
    alone = rule.experts is Experts.NONE or n_experts == 1
    return rule.reference is Reference.COMMUNICATION and alone


def _communication_mean(request: _Request, store: FactorStore, engine: Engine) -> Prediction:
    factor = store.communication()
    means = engine.map(lambda chunk: base_mean(request.committee, factor, request.points(chunk)), request.chunks)
    mean = np.concatenate([np.empty(0), *(part.double().cpu().numpy() for part in means)])
    return Prediction(restore_mean(mean, request.scaling), None, None)


def _in_target_units(mean: FloatArray, var_latent: FloatArray, noise: float, scaling: Standardisation) -> Prediction:
    return Prediction(
        restore_mean(mean, scaling),
        restore_variance(var_latent, scaling),
        restore_variance(var_latent + noise, scaling),
    )
