"""Baselines against what they must equal."""

from __future__ import annotations

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor
from gpcommittee.baselines import FullGP, GlobalExpert, SubsetOfData
from gpcommittee.datasets import make_toy
from gpcommittee.errors import InvalidInputError, InvalidParameterError

TOY = make_toy(120, seed=3)
POINTS = np.linspace(-0.2, 1.2, 9)[:, None]
FIXED = CommitteeRegressor(n_experts=4, optimizer=None, random_state=0, n_jobs=1)


def naive_gp(X: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact GP with the kernel and noise of a committee that does not optimise, in plain NumPy."""
    kernel = FullGP(FIXED).fit(X, y).model.hyperparameters_
    lengthscale, signal, noise = (float(np.ravel(value)[0]) for value in _by_name(kernel))
    x_mean, x_std, y_mean, y_std = X.mean(), X.std(ddof=1), y.mean(), y.std(ddof=1)
    a, b, target = (X - x_mean) / x_std, (at - x_mean) / x_std, (y - y_mean) / y_std

    def k(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.asarray(signal * np.exp(-0.5 * ((p - q.T) / lengthscale) ** 2))

    solved = np.linalg.solve(k(a, a) + noise * np.eye(len(a)), np.column_stack([target, k(a, b)]))
    mean = k(b, a) @ solved[:, 0]
    variance = signal + noise - np.einsum("ij,ji->i", k(b, a), solved[:, 1:])
    return y_mean + y_std * mean, y_std * np.sqrt(variance)


def _by_name(values: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [next(v for k, v in values.items() if part in k) for part in ("lengthscale", "outputscale", "noise")]


def test_full_gp_is_the_exact_gaussian_process() -> None:
    mean, std = FullGP(FIXED).fit(TOY.X, TOY.y).predict(POINTS)
    expected_mean, expected_std = naive_gp(TOY.X, TOY.y, POINTS)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9)
    np.testing.assert_allclose(std, expected_std, rtol=1e-9)


def test_subset_of_all_rows_is_the_full_gp() -> None:
    subset = SubsetOfData(len(TOY.y), committee=FIXED).fit(TOY.X, TOY.y).predict(POINTS)
    np.testing.assert_allclose(subset, FullGP(FIXED).fit(TOY.X, TOY.y).predict(POINTS), rtol=1e-9)


def test_subset_is_the_full_gp_on_the_rows_drawn() -> None:
    rows = np.random.default_rng(7).choice(len(TOY.y), 40, replace=False)
    subset = SubsetOfData(40, seed=7, committee=FIXED).fit(TOY.X, TOY.y).predict(POINTS)
    np.testing.assert_array_equal(subset, FullGP(FIXED).fit(TOY.X[rows], TOY.y[rows]).predict(POINTS))


def test_global_expert_is_the_rule_of_that_name() -> None:
    committee = CommitteeRegressor(n_experts=4, random_state=0, n_jobs=1).fit(TOY.X, TOY.y)
    expected = committee.predict(POINTS, return_std=True, aggregation="communication")
    np.testing.assert_array_equal(GlobalExpert(committee).fit(TOY.X, TOY.y).predict(POINTS), expected)


def test_the_committee_given_is_left_as_it_was() -> None:
    committee = CommitteeRegressor(n_experts=4, aggregation="rbcm", optimizer=None)
    before = committee.get_params()
    for baseline in (FullGP(committee), GlobalExpert(committee), SubsetOfData(50, committee=committee)):
        baseline.fit(TOY.X, TOY.y)
    assert committee.get_params() == before
    assert not hasattr(committee, "committee_")


@pytest.mark.parametrize("n_rows", [0, 121])
def test_subset_larger_than_the_data_is_refused(n_rows: int) -> None:
    with pytest.raises(InvalidParameterError, match=f"n_rows={n_rows} of 120 rows; choose 1 to 120"):
        SubsetOfData(n_rows).fit(TOY.X, TOY.y)


def test_rows_of_unequal_number_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="as many rows"):
        SubsetOfData(10).fit(TOY.X, TOY.y[:-1])
