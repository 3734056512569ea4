from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.aggregation import GRBCM
from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KERNELS
from gpcommittee.partition import resolve_sizes
from gpcommittee.planning import Plan, PlannedStage, plan_fit
from gpcommittee.planning.stages import ONLY_EVALUATIONS

RATE = 4e10


def plan(n_rows: int = 10_000, n_features: int = 8, n_test: int = 1_000_000, **settings: Any) -> Plan:
    return plan_fit(
        n_rows, n_features, n_test, **{"kernel": "squared_exponential", "machine_rate": RATE, "n_jobs": 1, **settings}
    )


def test_plan_of_ten_thousand_rows_and_a_million_test_rows() -> None:
    made = plan(n_experts=16, aggregation="grbcm")
    assert (made.n_experts, made.expert_size, made.communication_size, made.n_workers) == (16, 625, 625, 1)
    assert made.factor_bytes == 8 * 625**2 * (1 + 15 * 2)
    assert made.factors_kept
    assert made.objective_flops == 16 * (625**3 + 6 * 8 * 625**2)
    assert made.factor_flops == pytest.approx(15 * 39 / 12 * 625**3 + 625**3, rel=0.03)
    assert made.predict_flops == pytest.approx(1e6 * 46 * 625**2, rel=0.02)
    assert made.peak_memory == max(made.fit_memory.peak, made.predict_memory.peak) < 2e9


@given(
    n_rows=st.integers(1, 10**7),
    expert_size=st.none() | st.integers(1, 2000),
)
def test_sizes_are_those_of_the_fit(n_rows: int, expert_size: int | None) -> None:
    made, resolved = plan(n_rows, expert_size=expert_size), resolve_sizes(n_rows, expert_size=expert_size)
    assert (made.n_experts, made.communication_size) == (resolved.n_experts, resolved.communication_size)
    assert made.expert_size <= (expert_size or 1000)


def test_typical_fit_takes_no_more_evaluations_than_allowed() -> None:
    at_once: dict[str, Any] = {"training_experts": "all", "partition_metric": "standardised", "calibration": None}
    few, many = plan(max_evaluations=5, **at_once), plan(max_evaluations=10 * ONLY_EVALUATIONS, **at_once)
    assert (few.evaluations, few.longest_fit_seconds) == (5, few.fit_seconds)
    assert many.longest_fit_seconds == pytest.approx(10 * many.fit_seconds)


def test_a_fit_to_many_rows_trains_on_some_of_the_experts() -> None:
    staged = plan(10**6, calibration=None)
    at_once = plan(10**6, calibration=None, training_experts="all", partition_metric="standardised")
    assert [stage.n_experts for stage in at_once.stages] == [2000]
    assert [stage.n_experts for stage in staged.stages][:2] == [4, 16]
    assert staged.stages[-1].n_experts < 1200
    assert staged.evaluations == sum(stage.evaluations for stage in staged.stages)
    assert staged.fit_seconds < 0.5 * at_once.fit_seconds
    assert at_once.longest_fit_seconds < staged.longest_fit_seconds < 2 * at_once.longest_fit_seconds


def test_a_comparison_of_kernels_is_planned_as_the_dearest_of_them() -> None:
    auto, dearest = plan(kernel="auto"), plan(kernel="rational_quadratic")
    assert auto.kernel == dearest.kernel == "rational_quadratic"
    assert (auto.n_kernels, dearest.n_kernels) == (len(KERNELS), 1)
    assert all(plan(kernel=name).fit_seconds <= dearest.fit_seconds for name in KERNELS)
    assert all(plan(kernel=name).peak_memory <= auto.peak_memory for name in KERNELS)
    assert (auto.predict_seconds, auto.peak_memory) == (dearest.predict_seconds, dearest.peak_memory)
    assert auto.stages[0] == PlannedStage(4, 75, first_division=True)
    assert auto.stages[1:] == tuple(replace(stage, evaluations=15) for stage in dearest.stages)
    assert plan_fit(10_000, 8, 1000, machine_rate=RATE) == plan_fit(10_000, 8, 1000, machine_rate=RATE, kernel="auto")
    assert auto.fit_seconds > dearest.fit_seconds


def test_a_number_of_training_experts_is_planned() -> None:
    some = plan(expert_size=500, training_experts=10, partition_metric="standardised", calibration=None)
    assert [(stage.n_experts, stage.evaluations) for stage in some.stages] == [(10, ONLY_EVALUATIONS)]
    whole = plan(expert_size=500, training_experts="all", partition_metric="standardised", calibration=None)
    assert some.fit_seconds == pytest.approx(whole.fit_seconds / 2, rel=1e-6)


def test_variances_of_experts_own_are_found_once_at_the_end() -> None:
    shared, own = (plan(expert_size=500, expert_variances=name) for name in ("shared", "own"))
    assert shared.fit_seconds < own.fit_seconds < 2 * shared.fit_seconds
    assert own.longest_fit_seconds - shared.longest_fit_seconds == pytest.approx(own.fit_seconds - shared.fit_seconds)
    assert (own.stages, own.predict_seconds) == (shared.stages, shared.predict_seconds)


@pytest.mark.parametrize(("communication_size", "least", "most"), [(500, 2.5, 5), (2000, 4.5, 10)])
def test_the_conditional_objective_takes_longer_the_larger_the_communication_set(
    communication_size: int, least: float, most: float
) -> None:
    factorised, conditional = (
        plan(expert_size=500, communication_size=communication_size, objective=name, calibration=None)
        for name in ("factorised", "conditional")
    )
    assert least < conditional.fit_seconds / factorised.fit_seconds < most
    assert conditional.fit_memory.workers > factorised.fit_memory.workers
    assert (conditional.stages, conditional.predict_seconds) == (factorised.stages, factorised.predict_seconds)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ({"n_rows": 10_000, "expert_size": 500}, {"n_rows": 30_000, "expert_size": 500}),
        ({"n_features": 2}, {"n_features": 50}),
        ({"expert_size": 200, "aggregation": "grbcm"}, {"expert_size": 900, "aggregation": "grbcm"}),
        ({"kernel": "squared_exponential"}, {"kernel": "matern32"}),
        ({"partition": "tree"}, {"partition": "kmeans"}),
        ({"machine_rate": 2 * RATE}, {"machine_rate": RATE}),
    ],
)
def test_more_to_do_takes_longer_and_as_much_memory(smaller: dict[str, Any], larger: dict[str, Any]) -> None:
    less, more = plan(**smaller), plan(**larger)
    assert less.fit_seconds < more.fit_seconds
    assert less.predict_seconds < more.predict_seconds
    assert less.peak_memory <= more.peak_memory


def test_test_rows_concern_the_prediction_alone() -> None:
    none, some, many = (plan(n_test=n_test, aggregation="grbcm") for n_test in (0, 10**4, 10**6))
    assert none.fit_seconds == some.fit_seconds == many.fit_seconds
    assert none.fit_memory == some.fit_memory == many.fit_memory
    assert 0 < none.predict_seconds < some.predict_seconds < many.predict_seconds
    assert none.predict_memory.peak <= some.predict_memory.peak < many.predict_memory.peak


def test_workers_share_the_time_and_add_to_the_memory() -> None:
    one, four = plan(n_jobs=1), plan(n_jobs=4, machine_rate=4 * RATE)
    assert one.fit_seconds / 4 < four.fit_seconds < one.fit_seconds / 2
    assert one.fit_memory.workers == four.fit_memory.workers / 4


def test_single_precision_halves_the_factors() -> None:
    assert plan(dtype="float32").factor_bytes == plan().factor_bytes / 2


def test_a_rule_without_coupling_has_smaller_factors() -> None:
    grbcm, rbcm, communication = (plan(aggregation=a) for a in (GRBCM(lead=None), "rbcm", "communication"))
    assert grbcm.factor_bytes > rbcm.factor_bytes > communication.factor_bytes
    assert grbcm.predict_seconds > rbcm.predict_seconds > communication.predict_seconds


def test_rate_is_measured_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gpcommittee.planning.plan.measure_dgemm_rate", lambda n_jobs, dtype: {(3, "float32"): 7.0}[n_jobs, dtype]
    )
    assert plan(machine_rate=None, n_jobs=3, dtype="float32").machine_rate == 7.0


def test_budget_decides_whether_factors_are_kept() -> None:
    generous, tight = plan(10**6, memory_budget=20.0), plan(10**6, memory_budget=1.0)
    assert (generous.factors_kept, tight.factors_kept) == (True, False)
    assert tight.predict_memory.factors < generous.predict_memory.factors


@pytest.mark.parametrize(
    ("settings", "available", "advice"),
    [
        ({"aggregation": "grbcm"}, 1e9, "Nothing to change"),
        ({"n_test": 10**7}, 1e9, "exceeds the 0.931 GiB of this machine"),
        (
            {"n_rows": 10**6, "memory_budget": 1.0, "aggregation": "grbcm"},
            1e12,
            "Factors of 7.45 GiB exceed the memory budget of 1 GiB",
        ),
        ({"n_rows": 10**6, "memory_budget": 1.0}, 1e12, "or choose fewer rows for each, Neighbourhood(n_rows=...)."),
        ({"n_rows": 10**6, "expert_size": 4000, "memory_budget": 1e3}, 1e12, "Half of expert_size=4000 would take"),
        ({"n_rows": 10**8, "memory_budget": 1e4, "training_experts": "all"}, 1e15, "give it a checkpoint"),
        ({"n_experts": 1000, "aggregation": "grbcm"}, 1e12, "Experts of at most 10 rows know little"),
    ],
)
def test_advice(settings: dict[str, Any], available: float, advice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcommittee.planning.advice.usable_memory", lambda: available)
    made = plan(**settings)
    assert advice in made.advice
    assert "\n" not in made.advice


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_rows": 0}, "n_rows must be an integer of at least 1, got 0"),
        ({"n_features": 0}, "n_features must be an integer of at least 1, got 0"),
        ({"n_features": 2.5}, "n_features must be an integer of at least 1, got 2.5"),
        ({"n_test": -1}, "n_test must be an integer of at least 0, got -1"),
        ({"n_test": True}, "n_test must be an integer of at least 0, got True"),
        ({"n_experts": 3, "expert_size": 4}, "were both given"),
        ({"n_experts": 10_001}, "exceeds the 10000 rows"),
        ({"partition": "grid"}, r"partition must be one of \['kmeans', 'random', 'tree'\] in a plan, got 'grid'"),
        ({"partition": [0, 1]}, r"partition must be one of"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer, got 0"),
        ({"max_evaluations": 0}, "max_evaluations must be an integer of at least 1, got 0"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"memory_budget": 0}, "memory_budget must be a finite number above 0 or None, got 0"),
        ({"machine_rate": float("inf")}, "machine_rate must be a finite number above 0 or None, got inf"),
        ({"machine_rate": True}, "machine_rate must be a finite number above 0 or None, got True"),
        ({"partition": "random"}, "a random partition scatters them; plan for partition='tree'"),
        ({"aggregation": "mean"}, "Unknown aggregation 'mean'"),
        ({"kernel": "periodic"}, "kernel must be one of"),
    ],
)
def test_settings_that_are_not_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        plan(**settings)


def test_the_default_is_the_rule_that_auto_prefers() -> None:
    assert plan() == plan(aggregation="neighbourhood") == plan(aggregation="auto")
    assert plan(partition="random", aggregation="auto") == plan(partition="random", aggregation="grbcm")


def test_plan_is_made_of_plain_numbers() -> None:
    shape: Any = (np.int64(1000), np.int32(3), np.int64(10))
    made = plan_fit(*shape, machine_rate=np.float64(RATE), partition="kmeans")
    assert json.loads(json.dumps(asdict(made)))["n_rows"] == 1000
