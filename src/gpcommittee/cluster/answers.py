"""Predictions of any rules at test points of this process, batch by batch on a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation import NPAE, AdditiveRule, Rule
from gpcommittee.cluster.npae import chunk_size, in_one_precision, submit_npae
from gpcommittee.cluster.predict import (
    EXPERTS_PER_TASK,
    Answer,
    Numerics,
    joined_answers,
    submit_additive,
    submit_communication_mean,
    with_boxes,
)
from gpcommittee.cluster.restricted import submit_restricted
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.worker import Model
from gpcommittee.distributed.stream import BATCH_POINTS, BATCH_POINTS_OF_NEAREST
from gpcommittee.prediction.budget import DEFAULT_SHARE, GIBIBYTE
from gpcommittee.prediction.predict import mean_is_communication
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Prediction

if TYPE_CHECKING:
    from distributed import Future

TASKS_PER_THREAD = 4
"""Tasks in flight for each thread of the workers, about: enough to keep them busy while a batch ends."""


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
        GiB that one task of NPAE may take. Default: half of a worker's memory for each of its threads.

    Returns
    -------
    Answer
        One prediction per rule, in their order, in the target's units.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    MemoryBudgetError
        If NPAE is asked for and does not fit the memory budget.
    WorkerError
        If a task failed for good.
    """
    if len(X) == 0:
        return Answer([_without_points(mean_only)] * len(rules), Numerics())
    found: dict[int, Prediction] = {}
    numerics = Numerics()
    nested = [i for i, rule in enumerate(rules) if isinstance(rule, NPAE) and rule.is_papers]
    restricted = [i for i, rule in enumerate(rules) if isinstance(rule, NPAE) and not rule.is_papers]
    additive = [i for i, rule in enumerate(rules) if isinstance(rule, AdditiveRule)]
    families = [(nested, _run_npae), *(([i], _run_restricted) for i in restricted), (additive, _run_additive)]
    for numbers, run in families:
        if numbers:
            answer = run(rows, model, X, [rules[i] for i in numbers], reporter, mean_only, memory_budget)
            found.update(zip(numbers, answer.predictions, strict=True))
            numerics = numerics.and_of(answer.numerics)
    return Answer([found[i] for i in range(len(rules))], numerics)


def _run_additive(
    rows: ShardedRows,
    model: Model,
    X: FloatArray,
    rules: Sequence[Any],
    reporter: Reporter,
    mean_only: bool,
    memory_budget: float | None,
) -> Answer:
    model = with_boxes(rows, model)
    kept = rows.cluster.keep("model", model)
    size = batch_points(model, rules)
    tasks_per_batch = sum(1 for _ in rows.units(EXPERTS_PER_TASK)) + 1

    def submit(points: FloatArray) -> Future[Any]:
        if mean_only and mean_is_communication(rules, rows.n_experts):
            return submit_communication_mean(rows, kept, len(rules), points)
        return submit_additive(rows, kept, rules, points, mean_only)

    return _together(rows, X, size, submit, tasks_per_batch, reporter)


def batch_points(model: Model, rules: Sequence[AdditiveRule]) -> int:
    """Most test points that are predicted together."""
    return BATCH_POINTS_OF_NEAREST if any(map(model.sums_nearest, rules)) else BATCH_POINTS


def _run_npae(
    rows: ShardedRows,
    model: Model,
    X: FloatArray,
    rules: Sequence[Any],
    reporter: Reporter,
    mean_only: bool,
    memory_budget: float | None,
) -> Answer:
    sound, size = npae_chunk(rows, model, memory_budget)
    kept = rows.cluster.keep("model", sound)
    n_groups = sum(1 for _ in rows.units(EXPERTS_PER_TASK)) + 1

    def submit(points: FloatArray) -> Future[Any]:
        return submit_npae(rows, kept, rules, points, mean_only)

    return _together(rows, X, size, submit, n_groups * (n_groups + 1) // 2, reporter)


def _run_restricted(
    rows: ShardedRows,
    model: Model,
    X: FloatArray,
    rules: Sequence[Any],
    reporter: Reporter,
    mean_only: bool,
    memory_budget: float | None,
) -> Answer:
    kept, budget = rows.cluster.keep("model", model.in_double()), task_budget(rows, memory_budget)
    (rule,) = rules

    def submit(points: FloatArray) -> Future[Any]:
        return submit_restricted(rows, kept, rule, points, mean_only, budget)

    return _together(rows, X, BATCH_POINTS, submit, rows.n_experts, reporter)


def task_budget(rows: ShardedRows, memory_budget: float | None) -> float:
    """Bytes that one task of NPAE may take: by default half of a worker's memory for each of its threads."""
    default = DEFAULT_SHARE * rows.cluster.memory_per_thread()
    return default if memory_budget is None else memory_budget * GIBIBYTE


def npae_chunk(rows: ShardedRows, model: Model, memory_budget: float | None) -> tuple[Model, int]:
    """The model in a precision in which NPAE can factor all experts, and the test points of its chunks.

    Raises
    ------
    MemoryBudgetError
        If NPAE does not fit the memory budget.
    """
    sound = in_one_precision(rows, model)
    return sound, chunk_size(rows.placed.sizes, sound.kernel.dtype.itemsize, task_budget(rows, memory_budget))


def _together(
    rows: ShardedRows,
    X: FloatArray,
    size: int,
    submit: Callable[[FloatArray], Future[Any]],
    tasks_per_batch: int,
    reporter: Reporter,
) -> Answer:
    """All batches; a few are in flight at a time."""
    batches = (X[start : start + size] for start in range(0, len(X), size))
    answers = []
    in_flight = 1 + -(-TASKS_PER_THREAD * rows.cluster.n_threads // tasks_per_batch)
    with reporter.stage("predict", len(X), unit="points") as stage:
        for answer in _in_order(rows, map(submit, batches), in_flight):
            answers.append(answer)
            stage.advance(len(answer.predictions[0].mean))
    return joined_answers(*answers)


def _in_order(rows: ShardedRows, submitted: Iterator[Future[Any]], in_flight: int) -> Iterator[Answer]:
    waiting = deque(islice(submitted, in_flight))
    while waiting:
        yield rows.cluster.result(waiting.popleft())
        waiting.extend(islice(submitted, 1))


def _without_points(mean_only: bool) -> Prediction:
    none = np.empty(0)
    return Prediction(none, None, None) if mean_only else Prediction(none, none, none)
