from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpcommittee.aggregation import make_rule
from gpcommittee.planning.case import Case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS, OBJECTIVE_CALL_SECONDS, Work
from gpcommittee.planning.work import EIGENVECTORS, additive_work, factor_work, objective_work, variances_work

CASE = Case(
    sizes=np.array([100.0, 200.0, 300.0]),
    n_features=2,
    n_test=1500,
    itemsize=8,
    n_workers=1,
    rule=make_rule("grbcm"),
    kernel="squared_exponential",
    budget=1e9,
)
VALUE, GRADIENT = KERNEL_COSTS["squared_exponential"].value, KERNEL_COSTS["squared_exponential"].gradient
SQUARES = 100**2 + 200**2 + 300**2
CUBES = 100**3 + 200**3 + 300**3


def with_rule(name: str) -> Case:
    return replace(CASE, rule=make_rule(name))


def test_objective_is_a_cholesky_and_an_inverse_per_expert() -> None:
    [work] = objective_work(CASE)
    assert work == Work(6 * 2 * SQUARES, 0, CUBES, GRADIENT * SQUARES, 3 * OBJECTIVE_CALL_SECONDS, 3)
    assert work.flops == CUBES + 12 * SQUARES


def test_the_conditional_objective_is_a_part_on_one_worker_and_one_for_all() -> None:
    first, others = objective_work(replace(CASE, objective="conditional"))
    assert first.flops == pytest.approx(7 / 3 * 100**3 + 12 * 100**2)
    assert first.n_tasks == 1
    terms = [m**3 + 3.25 * 100 * m**2 + 3.25 * 100**2 * m + 12 * (m**2 + 100 * m) for m in (200, 300)]
    assert others.flops == pytest.approx(sum(terms))
    assert others.entries == GRADIENT * (200**2 + 300**2 + 100 * 500)
    assert others.n_tasks == 2


def test_variances_of_experts_own_take_eigenvectors_once() -> None:
    assert variances_work(CASE) == ()
    first, others = variances_work(replace(CASE, expert_variances="own"))
    assert first.flops == pytest.approx(100**3 / 3 + 4 * 100**2)
    terms = [EIGENVECTORS * m**3 + 1.25 * 100 * m**2 + 100**2 * m + 4 * (m**2 + 100 * m) for m in (200, 300)]
    assert others.flops == pytest.approx(sum(terms))
    assert (first.n_tasks, others.n_tasks) == (1, 2)


def test_one_expert_alone_has_its_marginal_likelihood() -> None:
    alone = replace(CASE, sizes=CASE.sizes[:1])
    assert objective_work(replace(alone, objective="conditional")) == objective_work(alone)


def test_base_factors_are_a_cholesky_and_an_inverse_each() -> None:
    work = factor_work(with_rule("rbcm"))
    assert work == Work(2 * 2 * SQUARES, 0, CUBES, 2 * VALUE * SQUARES, CALL_SECONDS * 3, 3)


def test_augmented_factors_add_a_solve_and_a_product() -> None:
    work = factor_work(CASE)
    coupled = 100 * (200 + 300)
    assert work.solves == 100**2 * (200 + 300)
    assert work.products == 1.25 * 100 * (200**2 + 300**2) + 2 * 2 * (SQUARES + coupled)
    assert work.factorisations == pytest.approx(CUBES)
    assert work.entries == VALUE * (2 * SQUARES + coupled)


def test_the_communication_expert_alone_has_one_factor() -> None:
    work = factor_work(with_rule("communication"))
    assert (work.n_tasks, work.solves) == (1, 0)
    assert work.factorisations == pytest.approx(100**3)


def test_augmented_moments_take_three_squares_per_expert_and_test_point() -> None:
    work = additive_work(CASE)
    assert work.solves == 1500 * SQUARES
    assert work.products == 1500 * (2 * 100 * 500 + (2 * 2 + 4) * 600)
    assert work.entries == 1500 * VALUE * 600
    assert (work.factorisations, work.n_tasks) == (0, 2)
    assert work.call_seconds == pytest.approx(2 * 3 * CALL_SECONDS)


def test_the_communication_moments_are_computed_once_for_each_block_of_sixteen_experts() -> None:
    work = additive_work(replace(CASE, sizes=np.full(33, 10.0), n_test=1))
    assert work.solves == 100 * (32 + 3)
    assert work.n_tasks == 3


def test_base_moments_take_a_solve_per_expert() -> None:
    work = additive_work(with_rule("poe"))
    assert (work.solves, work.products) == (1500 * SQUARES, 1500 * 8 * 600)


def test_the_communication_expert_alone_takes_its_own_moments_only() -> None:
    work = additive_work(with_rule("communication"))
    assert (work.solves, work.products, work.n_tasks) == (1500 * 100**2, 1500 * 8 * 100, 2)


def test_no_test_rows_are_no_work() -> None:
    work = additive_work(replace(CASE, n_test=0))
    assert (work.flops, work.seconds(1e9, 4)) == (0, 0)
