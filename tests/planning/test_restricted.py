from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpcommittee.aggregation import GRBCM, NPAE
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.planning import plan_fit
from gpcommittee.planning.case import Case
from gpcommittee.planning.restricted import as_predicted, restricted_rule, restricted_work, restricted_worker_bytes

RULE = NPAE(n_experts=3, augmented=True)
CASE = Case(
    sizes=np.full(9, 200.0),
    n_features=2,
    n_test=5000,
    itemsize=8,
    n_workers=1,
    rule=RULE,
    kernel="matern32",
    budget=1e9,
)


def test_only_npae_over_some_or_augmented_experts_is_planned_so() -> None:
    assert restricted_rule(CASE) is RULE
    for rule in (NPAE(), NPAE(jitter=1e-3), GRBCM()):
        assert restricted_rule(replace(CASE, rule=rule)) is None


def test_it_is_computed_in_double() -> None:
    single = replace(CASE, itemsize=4)
    assert as_predicted(single) == CASE
    assert as_predicted(replace(single, rule=GRBCM())).itemsize == 4


def test_each_points_experts_are_solved_and_their_pairs_multiplied() -> None:
    work = restricted_work(CASE, RULE)
    n_pairs = 2 * 9 * 8 / 2
    entries = 5000 * (3 * 200 + 200) + n_pairs * 200**2
    assert work.solves == 5000 * (2 * 3 * 200**2 + 200**2)
    assert work.products == 5000 * (4 * 200 * 3 * 200 + 3 * 2 * (200**2 + 200)) + 2 * 2 * entries
    assert work.factorisations == 5000 * 9


def test_own_rows_take_no_products_with_the_communication_rows() -> None:
    own = replace(RULE, augmented=False)
    work = restricted_work(replace(CASE, rule=own), own)
    assert work.solves == 5000 * 2 * 3 * 200**2
    assert work.products < restricted_work(CASE, RULE).products


def test_many_experts_cost_little_more_than_few() -> None:
    many = replace(CASE, sizes=np.full(900, 200.0))
    assert restricted_work(many, RULE).flops < 2 * restricted_work(CASE, RULE).flops


def test_a_tight_budget_makes_smaller_groups() -> None:
    tight = replace(CASE, budget=20e6)
    assert restricted_worker_bytes(tight, RULE) < restricted_worker_bytes(CASE, RULE)
    with pytest.raises(MemoryBudgetError, match="NPAE over 3 experts"):
        restricted_work(replace(CASE, budget=1e6), RULE)


def test_a_plan_counts_the_pass_that_ranks_the_experts_too() -> None:
    settings = {"n_test": 4000, "n_experts": 30, "n_jobs": 1, "machine_rate": 4e10}
    restricted, grbcm = (plan_fit(20_000, 8, aggregation=rule, **settings) for rule in (RULE, "grbcm"))  # type: ignore[arg-type]
    assert grbcm.predict_flops < restricted.predict_flops < 2 * grbcm.predict_flops
    assert restricted.predict_seconds > grbcm.predict_seconds


def test_one_expert_is_planned_as_it_is() -> None:
    assert plan_fit(500, 2, n_test=100, n_experts=1, n_jobs=1, machine_rate=4e10, aggregation=RULE).predict_flops > 0
