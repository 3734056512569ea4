from __future__ import annotations

import numpy as np
import pytest

from committees import committee_of, random_blocks
from gpcommittee.aggregation import Experts, make_rule
from gpcommittee.engines import SerialEngine
from gpcommittee.planning.case import Case
from gpcommittee.planning.factors import FactorPlan, plan_factors
from gpcommittee.prediction import FactorStore, factors
from naive import NaiveGP

RULES = ["poe", "rbcm", "grbcm", "communication", "npae"]


def case_of(sizes: list[int], rule: str, budget: float = 1e9) -> Case:
    return Case(np.array(sizes, dtype=float), 2, 1, 8, 1, make_rule(rule), "squared_exponential", budget)


def store_of(sizes: list[int], budget: float = 1e9) -> FactorStore:
    gp = NaiveGP(lengthscale=np.ones(2), signal_variance=1.0, noise_variance=0.1)
    return FactorStore(committee_of(gp, random_blocks(sizes, 2, seed=0)), budget)


@pytest.mark.parametrize("rule", RULES)
def test_total_is_what_the_factors_of_a_store_hold(rule: str) -> None:
    sizes = [20, 30, 25]
    factors = store_of(sizes).load(frozenset({make_rule(rule).experts}), range(3), SerialEngine())
    base = {factors.communication, *factors.base.values()}
    n_bytes = sum(f.lower.nbytes for f in base)
    n_bytes += sum(f.lower.nbytes + f.coupling.nbytes for f in factors.augmented.values())
    assert plan_factors(case_of(sizes, rule)).total == n_bytes


@pytest.mark.parametrize("rule", ["rbcm", "grbcm", "communication"])
@pytest.mark.parametrize("budget", [1.0, 25_000.0, 60_000.0, 1e9])
def test_groups_are_those_of_a_store(rule: str, budget: float) -> None:
    sizes = [8, *([7] * 40), *([9] * 30)]
    groups = list(store_of(sizes, budget).groups(frozenset({make_rule(rule).experts})))
    assert plan_factors(case_of(sizes, rule, budget)).n_groups == len(groups)


def test_factors_within_the_budget_are_kept_in_one_group() -> None:
    others, communication = 8 * 40 * (100 + 100) * 100, 8 * 100**2
    plan = plan_factors(case_of([100] * 41, "grbcm", others))
    assert plan == FactorPlan(others + communication, kept=True, n_groups=1, resident=others + communication)


def test_factors_beyond_the_budget_are_made_group_by_group() -> None:
    one, communication = 8 * (100 + 100) * 100, 8 * 100**2
    plan = plan_factors(case_of([100] * 320, "grbcm", 33 * one))
    assert plan == FactorPlan(319 * one + communication, kept=False, n_groups=10, resident=33 * one + communication)


@pytest.mark.parametrize("budget", [30_000.0, 60_000.0, 1e9])
def test_kept_means_that_a_store_has_nothing_left_to_compute(budget: float) -> None:
    sizes, kinds = [20, 30, 25], frozenset({Experts.AUGMENTED})
    store = store_of(sizes, budget)
    first = store.load(kinds, range(3), SerialEngine()).augmented
    again = store.load(kinds, range(3), SerialEngine()).augmented
    assert plan_factors(case_of(sizes, "grbcm", budget)).kept is all(first[e] is again[e] for e in first)


def test_npae_needs_all_base_factors_at_once() -> None:
    plan = plan_factors(case_of([100] * 320, "npae", 1e6))
    assert (plan.total, plan.n_groups) == (8 * 320 * 100**2, 1)
    assert plan.resident == plan.total


@pytest.mark.parametrize(("swept", "expected"), [(0.0, 5), (1.5, 3), (1e3, 0)])
def test_freed_memory_is_given_back_while_many_factors_are_made(
    swept: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[None] = []
    monkeypatch.setattr(factors, "give_back_freed_memory", lambda: times.append(None))
    monkeypatch.setattr(factors, "SWEPT", swept * 8 * 20 * (20 + 30))
    store = store_of([30, *([20] * 5)])
    for _ in range(2):
        store.load(frozenset({Experts.AUGMENTED}), range(1, 6), SerialEngine())
        assert len(times) == expected
