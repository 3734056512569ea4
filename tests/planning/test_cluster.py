"""The plan of a cluster against what the code does and against limits that must hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.errors import InvalidParameterError
from gpcommittee.planning import ClusterPlan, plan_cluster, plan_fit
from gpcommittee.planning.cluster import TASK_SECONDS
from gpcommittee.planning.traffic import evaluation_tasks

RATE = 3e10


def plan(n_rows: int, n_workers: int = 8, n_test: int = 10**6, **settings: Any) -> ClusterPlan:
    """Of a fit by GRBCM without calibration, unless the settings say otherwise."""
    chosen: dict[str, Any] = {"calibration": None, "aggregation": "grbcm", **settings}
    return plan_cluster(n_rows, 10, n_test, n_workers=n_workers, machine_rate=RATE, **chosen)


def test_ten_to_the_eighth_rows() -> None:
    made = plan(10**8, 200)
    assert (made.n_experts, made.expert_size, made.communication_size) == (200_000, 500, 500)
    moved = made.traffic
    assert (moved.n_parts, moved.n_shards, moved.shuffle_tasks) == (400, 256, 400 * 256)
    assert moved.shuffle_bytes == pytest.approx(8e8 * 11 * 199 / 200)
    assert moved.sample_bytes == 8 * 128_000 * 10
    assert made.evaluation_flops == pytest.approx(1e8 * (500**2 + 6 * 10 * 500), rel=1e-3)
    assert made.batch_flops == pytest.approx(16_384 * 3 * 1e8 * 500, rel=0.1)
    assert made.worker_memory == pytest.approx(550e6 + 4 * 8e8 * 11 / 200, rel=0.1)


@given(st.integers(3, 9), st.integers(1, 2000))
def test_the_client_moves_the_same_bytes_in_an_evaluation_whatever_the_rows(power: int, n_workers: int) -> None:
    assert plan(10**power, n_workers).evaluation_bytes < 2e6
    assert plan(10**power, n_workers, training_experts="all").evaluation_bytes < 4e6


def test_evaluations_have_tasks_for_a_few_hundred_workers_at_most() -> None:
    for n_experts in (1, 2, 17, 256, 257, 261, 300, 1000, 5000, 2 * 10**6):
        for n_shards in (1, 4, 32, 256):
            tasks = evaluation_tasks(n_experts, n_shards)
            assert min(n_experts, 1 + n_shards) <= tasks <= min(n_experts, 256 + n_shards) + 1


def test_one_worker_moves_no_rows_and_takes_the_time_of_one_process() -> None:
    settings: dict[str, Any] = {"partition_metric": "standardised", "training_experts": 64, "calibration": None}
    one = plan(10**6, 1, **settings)
    alone = plan_fit(10**6, 10, machine_rate=RATE, n_jobs=1, **settings)
    assert one.traffic.shuffle_bytes == 0.0
    tasks = sum(stage.evaluations * stage.n_experts for stage in one.stages)
    dividing = one.traffic.shuffle_tasks * 1.5e-3 + 10**6 * 15e-6
    assert one.fit_seconds == pytest.approx(alone.fit_seconds + TASK_SECONDS * tasks + dividing, rel=1e-6)


def test_more_workers_take_less_time_and_memory_until_the_scheduler_limits() -> None:
    few, many, most = plan(10**7, 4), plan(10**7, 64), plan(10**7, 10**5)
    assert few.predict_seconds == pytest.approx(16 * many.predict_seconds, rel=0.1)
    assert few.worker_memory > 1.5 * many.worker_memory
    assert few.limit.startswith("Arithmetic")
    assert most.limit.startswith("The scheduler")
    assert plan(10**9, 1000).limit.startswith("Training")


def test_points_that_wait_are_shared_by_the_workers_and_no_more_than_there_are() -> None:
    none, some, all_waiting = (plan(10**5, 2, n_test) for n_test in (0, 50_000, 10**8))
    assert all_waiting.worker_memory - none.worker_memory == pytest.approx(2 * 5 * 16_384 * 8 * 10 / 2)
    assert some.worker_memory - none.worker_memory == pytest.approx(2 * 50_000 * 8 * 10 / 2)


def test_calibration_takes_a_part_of_the_time_of_a_fit() -> None:
    assert plan(10**8, 200, calibration="held_out").fit_seconds > plan(10**8, 200).fit_seconds


def test_neighbourhood_experts_stay_with_their_shards_and_answer_for_points() -> None:
    made, summed = plan(10**8, 200, aggregation="neighbourhood"), plan(10**8, 200)
    moved = made.traffic
    assert (moved.batch_points, moved.batch_tasks) == (2**16, 3 * 256 + 4)
    assert (summed.traffic.batch_points, summed.traffic.halo_bytes) == (16_384, 0.0)
    assert moved.shuffle_bytes == summed.traffic.shuffle_bytes
    assert 8e8 * 11 < moved.halo_bytes <= 3 * 8e8 * 11
    assert made.predict_seconds < summed.predict_seconds / 100
    assert made.worker_memory < 2 * summed.worker_memory
    assert plan(10**8, 200, aggregation="neighbourhood", calibration="held_out").fit_seconds > made.fit_seconds


def test_one_worker_holds_all_rows_of_the_exact_process() -> None:
    made = plan(3000, 2, aggregation="neighbourhood")
    assert (made.traffic.batch_tasks, made.traffic.batch_points) == (1, 4096)
    assert made.traffic.halo_bytes == 3000 * 11 * 8 / 2
    assert plan(3000, 1, aggregation="neighbourhood").traffic.halo_bytes == 0.0


def test_settings_are_those_of_a_plan() -> None:
    assert plan(10**5, expert_size=1000).expert_size == 1000
    with pytest.raises(InvalidParameterError, match="n_workers must be an integer of at least 1, got 0"):
        plan(10**5, 0)
    with pytest.raises(InvalidParameterError, match="NPAE takes"):
        plan(10**5, aggregation="npae")
    with pytest.raises(InvalidParameterError, match="divided by 'tree' or 'random'"):
        plan(10**5, partition="kmeans")
