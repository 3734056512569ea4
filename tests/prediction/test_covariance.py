from __future__ import annotations

import numpy as np
import pytest

from committees import committee_of, identity_scaling, predict, random_blocks, variances
from gpcommittee.aggregation import NPAE
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.prediction import FactorStore, Request, npae_covariance
from naive import Array, NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (9, 2))
BLOCKS = random_blocks([12, 9, 14, 5], 2, seed=0)


def covariance(blocks: list[tuple[Array, Array]], *, budget: float = 1e9, n_workers: int = 1) -> tuple[Array, Array]:
    store = FactorStore(committee_of(GP, blocks), budget)
    request = Request(store.committee, identity_scaling(2), X_TEST)
    engine = SerialEngine() if n_workers == 1 else ThreadEngine(n_workers)
    return npae_covariance(NPAE(), request, store, engine)


def test_one_expert_gives_the_exact_posterior_covariance() -> None:
    [(X, y)] = random_blocks([30], 2, seed=1)
    mean, got = covariance([(X, y)])
    inverse = np.linalg.inv(GP.k(X, X) + GP.noise_variance * np.eye(30))
    cross = GP.k(X, X_TEST)
    np.testing.assert_allclose(mean, cross.T @ inverse @ y, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(got, GP.k(X_TEST, X_TEST) - cross.T @ inverse @ cross, rtol=1e-8, atol=1e-10)


def test_mean_and_diagonal_are_those_of_the_pointwise_prediction() -> None:
    mean, got = covariance(BLOCKS)
    [pointwise] = predict(committee_of(GP, BLOCKS), X_TEST, [NPAE()])
    np.testing.assert_allclose(mean, pointwise.mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(got.diagonal(), variances(pointwise)[0], rtol=1e-8)


def test_it_is_the_covariance_of_simulated_errors() -> None:
    """Draw functions and data from the prior, predict each by the same linear weights, and compare."""
    X = np.vstack([X for X, _ in BLOCKS])
    together = np.vstack([X, X_TEST])
    root = np.linalg.cholesky(GP.k(together, together) + 1e-10 * np.eye(len(together)))
    generator = np.random.default_rng(0)
    draws = generator.standard_normal((20_000, len(together))) @ root.T
    targets = draws[:, : len(X)] + np.sqrt(GP.noise_variance) * generator.standard_normal((20_000, len(X)))
    weights = np.column_stack([covariance(_with_targets(row))[0] for row in np.eye(len(X))])
    errors = draws[:, len(X) :] - targets @ weights.T
    np.testing.assert_allclose(covariance(BLOCKS)[1], errors.T @ errors / len(errors), atol=0.06)


def _with_targets(y: Array) -> list[tuple[Array, Array]]:
    parts = np.split(y, np.cumsum([len(part) for _, part in BLOCKS])[:-1])
    return [(X, part) for (X, _), part in zip(BLOCKS, parts, strict=True)]


def test_it_is_symmetric_positive_and_the_same_on_every_engine() -> None:
    _, got = covariance(BLOCKS)
    np.testing.assert_array_equal(got, got.T)
    assert np.linalg.eigvalsh(got).min() > 0
    np.testing.assert_array_equal(got, covariance(BLOCKS, n_workers=3)[1])


def test_a_block_beyond_the_budget_is_refused_with_the_estimate() -> None:
    with pytest.raises(MemoryBudgetError, match=r"between 9 points needs .* GiB; the budget is .* Pass fewer points"):
        covariance(BLOCKS, budget=1e4)
