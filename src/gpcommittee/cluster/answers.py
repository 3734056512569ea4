"""Predictions of any rules at test points of this process, batch by batch on a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation import NPAE, AdditiveRule, Neighbourhood, Rule
from gpcommittee.cluster.neighbourhood import prepared
from gpcommittee.cluster.npae import chunk_size, in_one_precision, submit_npae
from gpcommittee.cluster.predict import (
    EXPERTS_PER_TASK,
    Answer,
    Numerics,
    joined_answers,
    submit_additive,
    submit_communication_mean,
)
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.worker import Model
from gpcommittee.distributed import BATCH_POINTS
from gpcommittee.prediction.budget import DEFAULT_SHARE, GIBIBYTE
from gpcommittee.prediction.predict import mean_is_communication
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Prediction

if TYPE_CHECKING:
    from distributed import Future

TASKS_PER_THREAD = 4
"""Tasks in flight for each thread of the workers, about: enough to keep them busy while a batch ends."""


@dataclass(frozen=True)
class _Request:
    """What is asked of the rules of all families; see `predict_on_cluster`."""

    rows: ShardedRows
    model: Model
    X: FloatArray
    reporter: Reporter
    mean_only: bool
    memory_budget: float | None

    def answer(self, submit: Callable[[FloatArray], Future[Any]], batch_points: int, tasks_per_batch: int) -> Answer:
        """All batches; a few are in flight at a time."""
        X, n_threads = self.X, self.rows.cluster.n_threads
        batches = (X[start : start + batch_points] for start in range(0, len(X), batch_points))
        answers = []
        in_flight = 1 + -(-TASKS_PER_THREAD * n_threads // tasks_per_batch)
        with self.reporter.stage("predict", len(X), unit="points") as stage:
            for answer in _in_order(self.rows, map(submit, batches), in_flight):
                answers.append(answer)
                stage.advance(len(answer.predictions[0].mean))
        return joined_answers(*answers)


def predict_on_cluster(
    rows: ShardedRows,
    model: Model,
    X: FloatArray,
    rules: Sequence[Rule],
    reporter: Reporter,
    *,
    mean_only: bool = False,
    memory_budget: float | None = None,
) -> Answer:
    """Predictions of several rules at the same test points.

    Parameters
    ----------
    rows : ShardedRows
    model : Model
    X : ndarray, shape (n_points, n_features)
        Test inputs in their original units.
    rules : sequence of Rule
    reporter : Reporter
    mean_only : bool
        Leave out the variances, and the work that only they need.
    memory_budget : float, optional
        GiB that one task of NPAE or of neighbourhood experts may take. Default: half of a worker's memory for each of
        its threads.

    Returns
    -------
    Answer
        One prediction per rule, in their order, in the target's units.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    MemoryBudgetError
        If NPAE or neighbourhood experts are asked for and do not fit the memory budget.
    WorkerError
        If a task failed for good.
    """
    if len(X) == 0:
        return Answer([_without_points(mean_only)] * len(rules), Numerics())
    request = _Request(rows, model, X, reporter, mean_only, memory_budget)
    found: dict[int, Prediction] = {}
    numerics = Numerics()
    for i, rule in enumerate(rules):
        if isinstance(rule, Neighbourhood):
            answer = _run_neighbourhood(request, rule)
            found[i], numerics = answer.predictions[0], numerics.and_of(answer.numerics)
    nested = [i for i, rule in enumerate(rules) if isinstance(rule, NPAE)]
    additive = [i for i, rule in enumerate(rules) if isinstance(rule, AdditiveRule)]
    families = [(nested, _run_npae), (additive, _run_additive)]
    for numbers, run in families:
        if numbers:
            answer = run(request, [rules[i] for i in numbers])
            found.update(zip(numbers, answer.predictions, strict=True))
            numerics = numerics.and_of(answer.numerics)
    return Answer([found[i] for i in range(len(rules))], numerics)


def _run_additive(request: _Request, rules: Sequence[Any]) -> Answer:
    rows, mean_only = request.rows, request.mean_only
    kept = rows.cluster.keep("model", request.model)

    def submit(points: FloatArray) -> Future[Any]:
        if mean_only and mean_is_communication(rules, rows.n_experts):
            return submit_communication_mean(rows, kept, len(rules), points)
        return submit_additive(rows, kept, rules, points, mean_only)

    return request.answer(submit, BATCH_POINTS, _n_groups(rows) + 1)


def _run_neighbourhood(request: _Request, rule: Neighbourhood) -> Answer:
    rows = request.rows
    placed = prepared(rows, request.model, rule, request.memory_budget)
    kept = rows.cluster.keep("model", request.model)

    def submit(points: FloatArray) -> Future[Any]:
        return placed.submit(kept, rule.blend, points, request.mean_only)

    return request.answer(submit, placed.batch_points, placed.n_tasks)


def _run_npae(request: _Request, rules: Sequence[Any]) -> Answer:
    rows = request.rows
    sound, size = npae_chunk(rows, request.model, request.memory_budget)
    kept = rows.cluster.keep("model", sound)
    n_groups = _n_groups(rows) + 1

    def submit(points: FloatArray) -> Future[Any]:
        return submit_npae(rows, kept, rules, points, request.mean_only)

    return request.answer(submit, size, n_groups * (n_groups + 1) // 2)


def npae_chunk(rows: ShardedRows, model: Model, memory_budget: float | None) -> tuple[Model, int]:
    """The model in a precision in which NPAE can factor all experts, and the test points of its chunks.

    Raises
    ------
    MemoryBudgetError
        If NPAE does not fit the memory budget.
    """
    sound = in_one_precision(rows, model)
    default = DEFAULT_SHARE * rows.cluster.memory_per_thread()
    budget = default if memory_budget is None else memory_budget * GIBIBYTE
    return sound, chunk_size(rows.placed.sizes, sound.kernel.dtype.itemsize, budget)


def _n_groups(rows: ShardedRows) -> int:
    """Groups of experts that a task takes."""
    return sum(1 for _ in rows.units(EXPERTS_PER_TASK))


def _in_order(rows: ShardedRows, submitted: Iterator[Future[Any]], in_flight: int) -> Iterator[Answer]:
    waiting = deque(islice(submitted, in_flight))
    while waiting:
        yield rows.cluster.result(waiting.popleft())
        waiting.extend(islice(submitted, 1))


def _without_points(mean_only: bool) -> Prediction:
    none = np.empty(0)
    return Prediction(none, None, None) if mean_only else Prediction(none, none, none)
