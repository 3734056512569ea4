"""Plans of neighbourhood experts against what the code does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks._child import ask_child
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.planning import plan_fit
from gpcommittee.planning.case import Case
from gpcommittee.planning.factors import plan_factors
from gpcommittee.planning.neighbourhood import (
    leaf_factor_work,
    leaf_moments_work,
    leaf_sizes,
    leaves_asked,
    leaves_left_out,
    leaves_made,
)
from gpcommittee.planning.plan import planned_case

SMALL = Neighbourhood(n_rows=40, leaf_size=10)


def case_of(n_rows: int = 10_000, n_features: int = 8, n_test: int = 10**6, **settings: Any) -> Case:
    return planned_case(n_rows, n_features, n_test, **{"n_jobs": 1, "kernel": "squared_exponential", **settings})[0]


@pytest.mark.parametrize(("n_rows", "rule"), [(1000, SMALL), (1000, Neighbourhood()), (777, Neighbourhood(n_rows=100))])
def test_leaves_are_those_of_a_fit(n_rows: int, rule: Neighbourhood) -> None:
    X = np.random.default_rng(0).standard_normal((n_rows, 3))
    settings: dict[str, Any] = {"expert_size": 60, "aggregation": rule}
    model = CommitteeRegressor(optimizer=None, random_state=0, **settings).fit(X, np.sin(X).sum(axis=1))
    store, planned = model._current_store().neighbourhood(rule), case_of(n_rows, 3, **settings)
    sizes = leaf_sizes(planned)
    assert sizes.n_leaves == store.leaves.n_leaves
    factor = store.factor(sizes.n_leaves - 1)
    assert factor.local is not None
    assert sizes.n_rows == len(factor.rows)
    assert sizes.middle == pytest.approx(factor.local.tree.n, abs=3)
    assert plan_factors(planned).total == sizes.n_leaves * factor.n_bytes


def test_left_out_rows_need_about_as_many_leaves_as_planned() -> None:
    X = np.random.default_rng(0).standard_normal((6000, 3))
    rule = Neighbourhood(n_rows=12, leaf_size=12)
    model = CommitteeRegressor(optimizer=None, random_state=0, aggregation=rule).fit(X, np.sin(X).sum(axis=1))
    store = model._current_store().neighbourhood(rule)
    made = len(store._kept)
    assert leaves_left_out(case_of(6000, 3, aggregation=rule)) == pytest.approx(made, rel=0.35)


def test_one_expert_of_all_rows_is_asked_for_all_points() -> None:
    case = case_of(3000, 4, 10_000)
    sizes = leaf_sizes(case)
    assert (sizes.n_leaves, sizes.n_rows, sizes.middle, sizes.asked) == (1, 3000, 3000, 1.0)
    assert leaves_asked(case) == leaves_left_out(case) == 1.0
    assert leaf_factor_work(case, 1).factorisations == 3000**3
    assert leaf_moments_work(case).solves == 10_000 * 3000**2


def test_factors_that_a_fit_has_left_are_not_made_again() -> None:
    roomy = case_of(200_000, 3, memory_budget=100.0)
    assert leaves_made(roomy) == pytest.approx(leaf_sizes(roomy).n_leaves - leaves_left_out(roomy), rel=0.01)
    assert leaves_made(replace(roomy, calibrates=False)) == pytest.approx(leaf_sizes(roomy).n_leaves, rel=0.01)
    assert leaves_left_out(replace(roomy, calibrates=False)) == 0.0


def test_factors_beyond_the_budget_are_made_again_for_every_portion() -> None:
    tight = case_of(200_000, 3, n_test=2**20, memory_budget=0.5)
    assert leaves_made(tight) == pytest.approx(4 * leaf_sizes(tight).n_leaves, rel=0.01)
    assert plan_factors(tight).resident == tight.budget


def test_a_prediction_takes_no_longer_with_more_rows() -> None:
    few, many = (leaf_moments_work(case_of(n_rows, 8)) for n_rows in (100_000, 10**7))
    assert many.flops < few.flops


def test_few_points_ask_few_leaves() -> None:
    case = case_of(200_000, 3, n_test=1)
    assert 1.0 < leaves_asked(case) < 2.0
    assert leaves_asked(replace(case, n_test=0)) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "budget"),
    [((3000, 4, 5000), None), ((10_000, 8, 20_000), 4.0), ((50_000, 3, 20_000), None), ((50_000, 3, 20_000), 0.2)],
)
def test_memory_is_right_within_a_quarter(shape: tuple[int, int, int], budget: float | None) -> None:
    measured = ask_child("tests.support.peak_memory_child", {"shape": shape, "budget": budget}, {})
    if measured["fit"] is None:
        pytest.skip("The system does not tell peak memory.")
    planned = plan_fit(*shape, n_jobs=1, machine_rate=1e10, kernel="squared_exponential", memory_budget=budget)
    assert planned.fit_memory.peak == pytest.approx(measured["fit"] * 2**30, rel=0.25)
    assert planned.predict_memory.peak == pytest.approx(measured["predict"] * 2**30, rel=0.25)
