"""Rows left out of every expert that knows them, against experts from which they are really deleted."""

from __future__ import annotations

import numpy as np
import pytest

from committees import committee_of, random_blocks
from gpcommittee._held_out import SCALE_PRIOR_ROWS, left_out_scale
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.experts.held_out import FEWEST
from gpcommittee.prediction import FactorStore
from gpcommittee.prediction.neighbourhood import leave_one_out, left_out_rows
from gpcommittee.prediction.neighbourhood.leave_one_out import MOST_LEAVES, MOST_ROWS
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, IntArray
from naive import NaiveGP
from neighbourhoods import leaves_of, own_committee, written_out

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
SIZES = [20, 35, 30, 40]
RULES = [
    Neighbourhood(n_rows=40, leaf_size=9),
    Neighbourhood(n_rows=30, leaf_size=12, communication=8),
    Neighbourhood(n_rows=124, leaf_size=40, blend=0.5),
]


def committee(*, own: bool = False, sizes: list[int] = SIZES) -> Committee:
    blocks = random_blocks(sizes, 2, seed=0)
    if not own:
        return committee_of(GP, blocks)
    return own_committee(GP, blocks, np.array([1.0, 0.5, 2.0, 3.0]), np.array([1.0, 4.0, 0.5, 9.0]))


def left_out(
    members: Committee,
    rule: Neighbourhood,
    rows: IntArray,
    *,
    calibrated: bool = True,
    budget: float = 1e9,
    engine: Engine | None = None,
) -> FloatArray:
    """Mean, latent variance and variance of an observation at some rows."""
    store = FactorStore(members, budget, calibrated).neighbourhood(rule)
    mean, latent, dispersion, noise = leave_one_out(rule.blend, store, rows, engine or SerialEngine(), SilentReporter())
    np.testing.assert_array_equal(dispersion, 1)
    return np.stack([mean, latent, latent + noise * members.noise_variance])


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("calibrated", [False, True], ids=["plain", "calibrated"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_row_is_predicted_as_if_it_had_never_been_there(rule: Neighbourhood, calibrated: bool, own: bool) -> None:
    members = committee(own=own)
    naive = written_out(GP, members, rule)
    rows = np.array([21, 54, 55, 90, 124])
    expected = np.array([naive.predict(naive.X[i], rule.blend, calibrated, left_out=int(i)) for i in rows]).T
    np.testing.assert_allclose(left_out(members, rule, rows, calibrated=calibrated), expected, rtol=1e-8, atol=1e-10)


def test_with_one_expert_it_is_the_exact_process_without_the_row() -> None:
    members, rows = committee(), np.array([0, 5, 60, 124])
    found = left_out(members, Neighbourhood(), rows, calibrated=False)
    X, y = members.X.numpy(), members.y.numpy()
    for i, row in enumerate(rows):
        others = np.arange(125) != row
        mean, latent = GP.latent_moments(X[others], y[others], X[row])
        np.testing.assert_allclose(found[:, i], [mean, latent, latent + GP.noise_variance], rtol=1e-9)


@pytest.mark.parametrize("engine", [SerialEngine(), ThreadEngine(3)], ids=["serial", "threads"])
@pytest.mark.parametrize("budget", [0.0, 1e9])
def test_numbers_do_not_depend_on_threads_budget_or_other_rows(budget: float, engine: Engine) -> None:
    members, rows = committee(), np.arange(30, 60)
    expected = left_out(members, RULES[0], rows)
    np.testing.assert_array_equal(left_out(members, RULES[0], rows, budget=budget, engine=engine), expected)
    alone = left_out(members, RULES[0], rows[[3]], budget=budget, engine=engine)
    np.testing.assert_allclose(alone, expected[:, [3]], rtol=1e-10)


def test_rows_are_drawn_from_a_few_leaves_each_once() -> None:
    leaves = leaves_of(committee(sizes=[50, 700, 700]), Neighbourhood(n_rows=60, leaf_size=10))
    rows = left_out_rows(leaves)
    assert (np.diff(rows) > 0).all()
    assert len(set(leaves.leaf_of[rows])) == MOST_LEAVES
    assert len(rows) == 10 * MOST_LEAVES
    assert (leaves.leaf_of[rows] >= 0).all()
    np.testing.assert_array_equal(rows, left_out_rows(leaves))
    many = left_out_rows(leaves_of(committee(sizes=[50, 700, 700]), Neighbourhood()))
    assert len(many) == MOST_ROWS
    assert (np.diff(many) > 0).all()


@pytest.mark.parametrize("sizes", [SIZES, [125]], ids=["four", "one"])
def test_the_scale_is_the_mean_squared_error_of_rows_left_out(sizes: list[int]) -> None:
    members, rule = committee(sizes=sizes), RULES[0]
    naive = written_out(GP, members, rule)
    rows = left_out_rows(leaves_of(members, rule))
    assert len(rows) > FEWEST
    mean, _, noisy = left_out(members, rule, rows)
    squares = (naive.y[rows] - mean) ** 2 / noisy
    expected = (squares.sum() + SCALE_PRIOR_ROWS) / (len(rows) + SCALE_PRIOR_ROWS)
    found = left_out_scale(FactorStore(members, 1e9, True), rule, SerialEngine(), SilentReporter())
    assert found == pytest.approx(expected, rel=1e-9)


def test_too_few_rows_leave_variances_as_they_are() -> None:
    few = committee(sizes=[FEWEST - 1])
    assert left_out_scale(FactorStore(few, 1e9, True), Neighbourhood(), SerialEngine(), SilentReporter()) == 1


def test_equal_rows_are_left_out_one_by_one() -> None:
    [(X, y)] = random_blocks([20], 2, seed=0)
    noise = 0.1 * np.random.default_rng(0).standard_normal((4, 20))
    members = committee_of(GP, [(np.repeat(X, 4, axis=0), (y + noise).T.ravel())])
    rule, rows = Neighbourhood(n_rows=60, leaf_size=7), np.arange(0, 80, 7)
    naive = written_out(GP, members, rule)
    expected = np.array([naive.predict(naive.X[i], rule.blend, False, left_out=int(i)) for i in rows]).T
    # Of rows at one distance, either may have the last millionth of a weight.
    np.testing.assert_allclose(left_out(members, rule, rows, calibrated=False), expected, rtol=1e-4, atol=1e-4)
