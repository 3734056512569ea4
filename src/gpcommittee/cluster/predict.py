"""Predictions on a cluster: test points go to where the experts are, and sums come together in a tree.

A batch of test points and some experts of a shard make one task, which runs the streaming code of one machine. Its sums
are merged with others', a few at a time and in the order of the experts, and finished on a worker (the paper's
multi-layer computing, end of section 3.1). Factors are computed anew by every task, block by block: a few per cent of
the work at a full batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Experts, finish, merge
from gpcommittee.aggregation.accumulator import joined, side_by_side
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.worker import Model, Rows, engine_on
from gpcommittee.experts import Committee
from gpcommittee.prediction import FactorStore, Request
from gpcommittee.prediction.neighbourhood import LeafStore
from gpcommittee.prediction.predict import communication_mean, in_target_units
from gpcommittee.prediction.request import empty_moments, write_moments
from gpcommittee.prediction.stream import Sums, chunk_sums
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Moments, Prediction, Shard

if TYPE_CHECKING:
    from distributed import Future

EXPERTS_PER_TASK = 16
"""Experts of one task: a block's factors are held at a time, and a test batch has enough tasks for many workers."""

FAN_IN = 8
"""Sums that one task merges."""


@dataclass(frozen=True)
class Numerics:
    """What it took to factor experts.

    Attributes
    ----------
    largest_jitter : float
        As a share of the mean prior variance.
    in_double : frozenset of int
        Experts that float32 could not factor.
    """

    largest_jitter: float = 0.0
    in_double: frozenset[int] = frozenset()

    @classmethod
    def of(cls, store: FactorStore | LeafStore) -> Numerics:
        """Of a store's factors."""
        return cls(store.largest_jitter, frozenset(map(store.committee.number, store.in_double)))

    def and_of(self, other: Numerics) -> Numerics:
        """Of both."""
        return Numerics(max(self.largest_jitter, other.largest_jitter), self.in_double | other.in_double)


@dataclass(frozen=True)
class Answer:
    """Predictions of every rule at a batch of test points."""

    predictions: list[Prediction]
    numerics: Numerics


def joined_answers(*answers: Answer) -> Answer:
    """The answer at the points of several, one after another; at least one."""
    numerics = answers[0].numerics
    for answer in answers[1:]:
        numerics = numerics.and_of(answer.numerics)
    return Answer([_joined(parts) for parts in zip(*(a.predictions for a in answers), strict=True)], numerics)


def _joined(parts: Sequence[Prediction]) -> Prediction:
    def whole(arrays: Sequence[FloatArray | None]) -> FloatArray | None:
        known = [array for array in arrays if array is not None]
        return np.concatenate(known) if known else None

    return Prediction(
        np.concatenate([part.mean for part in parts]),
        whole([part.var_latent for part in parts]),
        whole([part.var_noisy for part in parts]),
    )


@dataclass(frozen=True)
class Part:
    """Sums of some experts at a batch of test points.

    Attributes
    ----------
    totals : list of Accumulator
        One per rule.
    context : Context or None
        Of the communication expert's part.
    numerics : Numerics
    """

    totals: list[Accumulator]
    context: Context | None
    numerics: Numerics


def submit_additive(
    rows: ShardedRows, model: Future[Any], rules: Sequence[AdditiveRule], X: FloatArray | Future[Any], mean_only: bool
) -> Future[Any]:
    """Start the prediction of a batch.

    Parameters
    ----------
    rows : ShardedRows
    model : Future of Model
    rules : sequence of AdditiveRule
    X : ndarray, shape (n_points, n_features), or Future of one
        At least one point, in original units.
    mean_only : bool

    Returns
    -------
    Future of Answer
    """
    cluster, chosen = rows.cluster, list(rules)
    points = cluster.kept("points", X)
    common = (model, chosen, points, rows.communication)
    parts = [cluster.submit("predict", "the communication expert", _own_part, *common)]
    if any(rule.experts is not Experts.NONE for rule in rules):
        parts += [
            cluster.submit("predict", unit.about, _shard_part, *common, unit.shard, (unit.first, unit.stop))
            for unit in rows.units(EXPERTS_PER_TASK)
        ]
    while len(parts) > FAN_IN:
        fans = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
        parts = [cluster.submit("merge", "sums of experts", _merged, *fan) for fan in fans]
    return cluster.submit("finish", "sums of experts", _finished, model, chosen, mean_only, *parts)


def submit_communication_mean(
    rows: ShardedRows, model: Future[Any], n_rules: int, X: FloatArray | Future[Any]
) -> Future[Any]:
    """Start the prediction of the communication expert's mean at a batch, for so many rules."""
    return rows.cluster.submit(
        "predict", "the communication expert", _communication_mean, model, n_rules, X, rows.communication
    )


def _own_part(model: Model, rules: Sequence[AdditiveRule], X: FloatArray, communication: Rows) -> Part:
    """The communication expert's own, with the context."""
    return _part(model, rules, X, model.committee(communication), first=0)


def _shard_part(
    model: Model,
    rules: Sequence[AdditiveRule],
    X: FloatArray,
    communication: Rows,
    shard: Shard,
    experts: tuple[int, int],
) -> Part:
    part = _part(model, rules, X, model.committee(communication, shard, experts), first=1)
    return replace(part, context=None)


def _part(model: Model, rules: Sequence[AdditiveRule], X: FloatArray, committee: Committee, first: int) -> Part:
    """Experts from a first one, at all points."""
    store, request = FactorStore(committee, 0.0, model.calibrated), Request(committee, model.scaling, X)
    sums = chunk_sums(rules, request, store, engine_on(model.device), SilentReporter(), first)
    chunks = [one for _, one in sums]
    totals = [side_by_side([one.totals[i] for one in chunks]) for i in range(len(rules))]
    return Part(totals, _joined_context(chunks), Numerics.of(store))


def _joined_context(chunks: Sequence[Sums]) -> Context:
    contexts = [sums.context for sums in chunks]
    known = [context.communication for context in contexts if context.communication is not None]
    communication = (
        Moments(
            joined([moments.mean for moments in known]),
            joined([moments.var_latent for moments in known]),
            known[0].dispersion,
        )
        if known
        else None
    )
    prior = joined([context.prior_variance for context in contexts])
    return Context(prior, communication, contexts[0].noise_variance)


def _merged(*parts: Part) -> Part:
    """In their order."""
    whole = parts[0]
    for part in parts[1:]:
        totals = [merge(a, b) for a, b in zip(whole.totals, part.totals, strict=True)]
        whole = Part(totals, whole.context, whole.numerics.and_of(part.numerics))
    return whole


def _finished(model: Model, rules: Sequence[AdditiveRule], mean_only: bool, *parts: Part) -> Answer:
    whole = _merged(*parts)
    assert whole.context is not None
    predictions = []
    for rule, total in zip(rules, whole.totals, strict=True):
        moments = empty_moments(len(whole.context.prior_variance))
        write_moments(moments, slice(None), finish(rule, total, whole.context))
        predictions.append(in_target_units(moments, model.noise_variance, model.scaling, mean_only))
    return Answer(predictions, whole.numerics)


def _communication_mean(model: Model, n_rules: int, X: FloatArray, communication: Rows) -> Answer:
    committee = model.committee(communication)
    store = FactorStore(committee, 0.0, model.calibrated)
    mean = communication_mean(Request(committee, model.scaling, X), store, engine_on(model.device))
    return Answer([mean] * n_rules, Numerics.of(store))
