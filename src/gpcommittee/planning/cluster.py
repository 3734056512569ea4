"""The plan of a fit and a prediction on a Dask cluster, and what limits it first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpcommittee.aggregation import NPAE, Neighbourhood
from gpcommittee.choices import check_count
from gpcommittee.distributed import BATCH_POINTS
from gpcommittee.distributed.divide import check_method
from gpcommittee.distributed.stream import IN_FLIGHT
from gpcommittee.errors import InvalidParameterError
from gpcommittee.planning.case import Case
from gpcommittee.planning.leaf_traffic import DOUBLE, leaf_held_bytes, row_bytes
from gpcommittee.planning.memory import INTERPRETER_BYTES, LIVE_ARRAYS
from gpcommittee.planning.neighbourhood import leaf_factor_work, leaf_moments_work, leaf_sizes, leaves_asked
from gpcommittee.planning.plan import planned_case, planned_rate
from gpcommittee.planning.stages import PlannedStage, Training, typical_stages
from gpcommittee.planning.traffic import (
    FAN_IN,
    SUM_VALUES,
    Traffic,
    evaluation_bytes,
    evaluation_tasks,
    traffic,
)
from gpcommittee.planning.work import additive_work, calibrating_work, factor_work, objective_work
from gpcommittee.prediction.factors import EXPERT_BLOCK
from gpcommittee.prediction.stream import CHUNK

DASK_BYTES = 60e6
"""Dask in a worker, beside this package."""

TASK_SECONDS = 5e-3
"""Processor time of client and scheduler for one task, which no worker shortens; measured 4.6 to 5.1 ms."""

PIECE_SECONDS = 1.5e-3
"""The same for a task of a large graph, as a division's pieces are; measured."""

DIVIDING_SECONDS = 15e-6
"""Processor time of the workers for one row in a division: measured with two million rows of 11 inputs."""

NETWORK_RATE = 125e6
"""Bytes per second of a worker's network: 1 Gbit/s, where nothing else is said."""

COPIES_DIVIDING, COPIES_TRAINING = 4, 2
"""Copies of the rows on the workers: while they are divided again (as read, in the old and in the new shards, and in
the pieces between them); while hyperparameters are learned (as read, and in shards)."""

COPIES_PREDICTING = 2
"""Copies of the points of a batch on the workers: as read, and beside those of other partitions."""

TASK_RECORD_BYTES = 2_500
"""Of one task in the scheduler's memory."""


@dataclass(frozen=True)
class ClusterPlan:
    """What a fit and a prediction take on a cluster.

    Attributes
    ----------
    n_rows, n_features, n_test : int
    n_experts, expert_size, communication_size : int
    n_workers : int
        Workers of one thread.
    worker_rate : float
        Matrix-product operations per second of each.
    traffic : Traffic
    evaluation_flops : float
        Of one evaluation of the objective on all experts.
    evaluation_tasks : int
        Tasks of an evaluation in the last of the stages.
    evaluation_bytes : float
        That the client sends and receives for it; it does not grow with the number of rows.
    batch_flops : float
        Of a batch of test points, factors included.
    worker_memory, client_memory, scheduler_memory : float
        Bytes at the peak of each worker, of the client, and of the scheduler.
    stages : tuple of PlannedStage
    fit_seconds : float
        Time of a typical fit, reading left out.
    predict_seconds : float
    training_width, prediction_width : int
        Most workers that training, and a prediction, keep busy.
    limit : str
        What limits first.
    """

    n_rows: int
    n_features: int
    n_test: int
    n_experts: int
    expert_size: int
    communication_size: int
    n_workers: int
    worker_rate: float
    traffic: Traffic
    evaluation_flops: float
    evaluation_tasks: int
    evaluation_bytes: float
    batch_flops: float
    worker_memory: float
    client_memory: float
    scheduler_memory: float
    stages: tuple[PlannedStage, ...]
    fit_seconds: float
    predict_seconds: float
    training_width: int
    prediction_width: int
    limit: str


def plan_cluster(
    n_rows: int,
    n_features: int,
    n_test: int = 0,
    *,
    n_workers: int,
    machine_rate: float | None = None,
    network_rate: float = NETWORK_RATE,
    **settings: Any,
) -> ClusterPlan:
    """Work, traffic and memory of a fit and a prediction on a cluster.

    Parameters
    ----------
    n_rows, n_features, n_test : int
        As in `plan_fit`.
    n_workers : int
        Workers, each with one thread.
    machine_rate : float, optional
        Matrix-product operations per second of one worker. Default: those of one thread of this machine, measured.
    network_rate : float
        Bytes per second that each worker can send and receive.
    **settings
        Others of `plan_fit`; ``n_jobs`` does not matter.

    Returns
    -------
    ClusterPlan

    Raises
    ------
    InvalidParameterError
        If a setting is not allowed, or the rule is NPAE, which is not planned for a cluster.

    Examples
    --------
    >>> plan = plan_cluster(10**8, 10, n_workers=200, machine_rate=3e10)
    >>> f"{plan.worker_memory / 2**30:.1f} GiB per worker, {plan.evaluation_bytes / 1e6:.1f} MB per evaluation"
    '1.2 GiB per worker, 1.1 MB per evaluation'
    """
    check_count("n_workers", n_workers)
    check_method(settings.get("partition", "tree"))
    case, training = planned_case(n_rows, n_features, n_test, **{**settings, "n_jobs": 1})
    if isinstance(case.rule, NPAE):
        raise InvalidParameterError("A cluster is planned for all rules but one; NPAE takes N^2 flops per test point.")
    rate = planned_rate(machine_rate, 1, settings.get("dtype", "float64"))
    return _plan(case, training, int(n_workers), rate, network_rate)


def _plan(case: Case, training: Training, n_workers: int, rate: float, network_rate: float) -> ClusterPlan:
    moved, stages = traffic(case, n_workers), typical_stages(training, len(case.sizes))
    tasks = evaluation_tasks(stages[-1].n_experts, moved.n_shards)
    batch, compute = _batch(case, moved, rate)
    width = max(1, int(compute / (moved.batch_tasks * TASK_SECONDS)))
    return ClusterPlan(
        n_rows=int(case.sizes.sum()),
        n_features=case.n_features,
        n_test=case.n_test,
        n_experts=len(case.sizes),
        expert_size=int(np.ceil(case.sizes[-1])),
        communication_size=int(case.sizes[0]),
        n_workers=n_workers,
        worker_rate=rate,
        traffic=moved,
        evaluation_flops=sum(work.flops for work in objective_work(case)),
        evaluation_tasks=tasks,
        evaluation_bytes=evaluation_bytes(tasks, case.n_features + 1),
        batch_flops=batch,
        worker_memory=_worker_memory(case, training, moved, n_workers),
        client_memory=INTERPRETER_BYTES + DASK_BYTES + 3 * moved.sample_bytes + 8.0 * len(case.sizes),
        scheduler_memory=INTERPRETER_BYTES + DASK_BYTES + TASK_RECORD_BYTES * moved.shuffle_tasks,
        stages=stages,
        fit_seconds=_fit_seconds(case, training, stages, moved, n_workers, rate, network_rate),
        predict_seconds=case.n_test
        / moved.batch_points
        * (compute / min(n_workers, width) + moved.batch_bytes / (n_workers * network_rate)),
        training_width=tasks,
        prediction_width=width,
        limit=_limit(n_workers, tasks, width),
    )


def _fit_seconds(
    case: Case,
    training: Training,
    stages: tuple[PlannedStage, ...],
    moved: Traffic,
    n_workers: int,
    rate: float,
    network_rate: float,
) -> float:
    """Divisions and evaluations, the busiest worker's time and what goes through client and scheduler."""
    divisions = 2 if training.learns_metric else 1
    n_rows = float(case.sizes.sum())
    dividing = moved.shuffle_bytes / (n_workers * network_rate) + moved.shuffle_tasks * PIECE_SECONDS
    dividing += n_rows * DIVIDING_SECONDS / n_workers
    calibrating = sum(work.seconds(rate, 1) for work in calibrating_work(case)) / n_workers
    calibrating += moved.halo_bytes / (n_workers * network_rate)
    training_seconds = sum(_stage_seconds(case, stage, moved, n_workers, rate) for stage in stages)
    return divisions * dividing + training_seconds + calibrating


def _stage_seconds(case: Case, stage: PlannedStage, moved: Traffic, n_workers: int, rate: float) -> float:
    work = objective_work(stage.case(case))
    tasks = evaluation_tasks(stage.n_experts, moved.n_shards)
    share = -(-tasks // n_workers) / tasks
    seconds = sum(part.seconds(rate, 1) * (share if part.n_tasks > 1 else 1.0) for part in work)
    return stage.evaluations * (seconds + tasks * TASK_SECONDS)


def _batch(case: Case, moved: Traffic, rate: float) -> tuple[float, float]:
    """Operations and one worker's seconds of a batch, in which every task factors its experts anew."""
    one = replace(case, n_test=moved.batch_points)
    if isinstance(case.rule, Neighbourhood):
        n_factors = leaves_asked(one) if leaf_sizes(one).n_leaves > 1 else 0.0
        leaves = leaf_moments_work(one), leaf_factor_work(one, n_factors)
        return sum(part.flops for part in leaves), sum(part.seconds(rate, 1) for part in leaves)
    parts = additive_work(one), factor_work(one)
    again = (moved.batch_tasks - 1) * float(case.sizes[0]) ** 3
    flops = sum(part.flops for part in parts) + again
    return flops, sum(part.seconds(rate, 1) for part in parts) + again / rate


def _worker_memory(case: Case, training: Training, moved: Traffic, n_workers: int) -> float:
    """The largest of dividing, training and predicting, evenly spread."""
    rows, live = row_bytes(case) / n_workers, LIVE_ARRAYS[case.kernel]
    c, m = float(case.sizes[0]), float(case.sizes.max())
    dividing = (COPIES_DIVIDING if training.learns_metric else COPIES_DIVIDING - 1) * rows
    learning = COPIES_TRAINING * rows + case.itemsize * live.gradient * m**2
    at_once = min(case.n_test, (IN_FLIGHT + 1) * moved.batch_points)
    waiting = COPIES_PREDICTING * at_once * case.n_features * DOUBLE / n_workers
    if isinstance(case.rule, Neighbourhood):
        predicting = rows + leaf_held_bytes(case, moved.n_shards, n_workers) + waiting
        return INTERPRETER_BYTES + DASK_BYTES + max(dividing, learning, predicting)
    factors = case.itemsize * (c**2 + EXPERT_BLOCK * m * (m + c))
    points = BATCH_POINTS * (case.n_features * DOUBLE + (FAN_IN + 1) * SUM_VALUES * case.itemsize)
    chunk = case.itemsize * CHUNK * (live.moments * m + c)
    predicting = rows + factors + points + waiting + chunk
    return INTERPRETER_BYTES + DASK_BYTES + max(dividing, learning, predicting)


def _limit(n_workers: int, training_width: int, prediction_width: int) -> str:
    """One line: who waits for whom."""
    if n_workers > prediction_width:
        return (
            f"The scheduler: it starts tasks for about {prediction_width:,} workers; larger experts make larger tasks."
        )
    if n_workers > training_width:
        return (
            f"Training: an evaluation has {training_width:,} tasks, and more workers wait; predictions keep all of "
            "them busy."
        )
    return "Arithmetic: twice the workers take about half the time."
