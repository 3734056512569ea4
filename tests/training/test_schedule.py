from __future__ import annotations

import math

import numpy as np
import pytest

from gpcommittee.training.schedule import (
    NEARLY_ALL,
    TOLERATED_LOSS,
    Step,
    expected_loss,
    expert_order,
    next_step,
    pilot_sizes,
)


def test_experts_join_in_a_random_order_behind_the_communication_expert() -> None:
    order = expert_order(50, 3)
    assert order[0] == 0
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(order, expert_order(50, 3))
    assert (order != expert_order(50, 4)).any()
    assert expert_order(1, 0).tolist() == [0]


@pytest.mark.parametrize("others_only", [False, True])
def test_expected_loss_is_that_of_quadratic_objectives(others_only: bool) -> None:
    """Expert i: half the squared distance to its own optimum, so that the optimum of some experts is their mean."""
    generator = np.random.default_rng(0)
    n_before, n_now, n_experts, drops, lacking = 40, 80, 400, [], []
    for _ in range(1000):
        optima = generator.standard_normal((n_experts, 3)) * [1.0, 2.0, 0.5]
        order = generator.permutation(n_experts)
        now, before = optima[order[:n_now]], optima[order[-n_before:] if others_only else order[:n_before]]
        held_out = now if others_only else now[n_before:]
        values = [0.5 * ((held_out - theta.mean(axis=0)) ** 2).sum(axis=1) for theta in (before, now)]
        drops.append(values[0] - values[1])
        whole = [0.5 * ((optima - theta.mean(axis=0)) ** 2).sum(axis=1).mean() for theta in (now, optima)]
        lacking.append((whole[0] - whole[1]) / 10)
    expected = expected_loss(np.concatenate(drops), np.full(sum(map(len, drops)), 10), n_before, n_now, n_experts)
    assert expected == pytest.approx(np.mean(lacking), rel=0.1)


def test_expected_loss_weighs_experts_by_their_rows() -> None:
    """Without scatter around the mean drop per row there is no error to add."""
    rows = np.array([10, 20, 30])
    assert expected_loss(0.5 * rows, rows, 5, 10, 10**9) == pytest.approx(0.5 / 3)
    assert expected_loss(0.5 * rows, rows, 5, 10, 20) == pytest.approx(0.25 / 3)


def test_one_standard_error_is_added() -> None:
    """Drops of 0 and 2 per row: mean 1, standard error 1."""
    assert expected_loss(np.array([0.0, 20.0]), np.array([10, 10]), 5, 10, 10**9) == pytest.approx((1 + 1) / 3)


def test_expected_loss_at_its_limits() -> None:
    rows = np.array([10, 10])
    assert expected_loss(np.array([9.0, 1.0]), rows, 5, 10, 10) == 0.0
    assert expected_loss(np.array([-9.0, -8.0]), rows, 5, 10, 100) == 0.0
    assert expected_loss(rows[:1] / 10, rows[:1], 9, 10, 100) == math.inf


@pytest.mark.parametrize("n_experts", [9, 20, 100, 3000])
@pytest.mark.parametrize("constant", [1e-4, 0.05, 1.0, 50.0])
def test_stages_end_where_the_loss_is_tolerated(n_experts: int, constant: float) -> None:
    sizes, last, loss = [4], False, None
    while not last:
        step = next_step(sizes[-1], n_experts, loss)
        assert sizes[-1] < step.size <= n_experts
        sizes, last = [*sizes, step.size], step.may_be_last
        loss = constant * (1 / step.size - 1 / n_experts)
    assert loss is not None
    assert loss <= TOLERATED_LOSS
    assert sizes[-1] == n_experts or sizes[-1] < NEARLY_ALL * n_experts
    assert len(sizes) <= 2 + math.log(n_experts, 4)


@pytest.mark.parametrize("loss", [0.0, 0.0002])
def test_a_stage_that_was_enough_by_luck_is_followed_by_one_that_ends_properly(loss: float) -> None:
    assert next_step(16, 1000, loss) == Step(24, True)


def test_pilots_are_small() -> None:
    assert [pilot_sizes(n, n) for n in (1, 3, 26, 27, 1000)] == [(1,), (3,), (4,), (4, 16), (4, 16)]
    assert [pilot_sizes(1000, most) for most in (1, 4, 9)] == [(1,), (4,), (4, 9)]
