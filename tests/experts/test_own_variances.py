"""Variances of an expert's own, against a search of the dense posterior in both of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from committees import committee_of, random_blocks
from gpcommittee.errors import InvalidParameterError
from gpcommittee.experts import (
    AugmentedFactor,
    BaseFactor,
    Committee,
    factor_augmented,
    factor_augmented_together,
    factor_base,
    factor_base_together,
    own_variances,
)
from gpcommittee.experts.own_variances import FARTHEST, PRIOR_ROWS, WIDTH
from gpcommittee.records import OwnVariances
from naive import Array, NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)


def found_by(committee: Committee) -> tuple[float, float]:
    return own_variances(committee, factor_base(committee, 0), 1)


def residual(gp: NaiveGP, X_c: Array, y_c: Array, X: Array, y: Array) -> tuple[Array, Array]:
    """Latent covariance of an expert's rows given the communication rows, and what is left of the target."""
    cross = gp.k(X, X_c) @ np.linalg.inv(gp.k(X_c, X_c) + gp.noise_variance * np.eye(len(X_c)))
    return gp.k(X, X) - cross @ gp.k(X_c, X), y - cross @ y_c


def loss(point: Array, covariance: Array, target: Array, noise_variance: float) -> float:
    """Negative log posterior of log signal and log ratio, written out."""
    log_signal, log_ratio = point
    of_all = np.exp(log_signal) * (covariance + np.exp(log_ratio) * noise_variance * np.eye(len(target)))
    fit = 0.5 * target @ np.linalg.solve(of_all, target) + 0.5 * np.linalg.slogdet(of_all)[1]
    prior = 0.5 * PRIOR_ROWS * (log_signal + np.exp(-log_signal)) + 0.5 * (log_ratio / WIDTH) ** 2
    return float(fit + prior)


@settings(max_examples=20, deadline=None)
@given(sizes=st.tuples(st.integers(1, 20), st.integers(1, 30)), seed=st.integers(0, 50), noise=st.floats(0.0, 1.0))
def test_they_are_the_mode_of_the_posterior(sizes: tuple[int, int], seed: int, noise: float) -> None:
    communication, (X, y) = random_blocks(sizes, 2, seed)
    y = y + noise * np.random.default_rng(seed).standard_normal(len(y))
    signal, own_noise = found_by(committee_of(GP, [communication, (X, y)]))
    covariance, target = residual(GP, *communication, X, y)
    starts = [(0.0, ratio) for ratio in (-1.5, 0.0, 1.5)]
    arguments = covariance, target, GP.noise_variance
    values = [minimize(loss, start, args=arguments, method="Nelder-Mead").fun for start in starts]
    value = loss(np.array([np.log(signal), np.log(own_noise / signal)]), *arguments)
    assert value == pytest.approx(min(values), abs=1e-5)


@pytest.mark.parametrize(("signal", "noise"), [(4.0, 2.0), (0.5, 1.0), (1.0, 1.0), (2.0, 0.5)])
def test_they_are_found_again(signal: float, noise: float) -> None:
    generator, gp = np.random.default_rng(0), replace(GP, lengthscale=np.array([0.2, 0.3]))
    X_c, X = generator.uniform(-2, 2, (30, 2)), generator.uniform(-2, 2, (500, 2))
    covariance, shift = residual(gp, X_c, np.sin(X_c).sum(axis=1), X, np.zeros(500))
    own = signal * covariance + noise * gp.noise_variance * np.eye(500)
    y = np.linalg.cholesky(own) @ generator.standard_normal(500) - shift
    found = found_by(committee_of(gp, [(X_c, np.sin(X_c).sum(axis=1)), (X, y)]))
    assert found[0] == pytest.approx(signal, rel=0.2)
    assert found[1] == pytest.approx(noise, rel=0.25)


def test_no_noise_falls_below_the_floor_of_the_training() -> None:
    gp = replace(GP, noise_variance=1e-8)
    X_c, X = np.linspace(-2, 2, 10).reshape(5, 2), np.random.default_rng(0).uniform(-2, 2, (20, 2))
    signal, noise = found_by(committee_of(gp, [(X_c, np.zeros(5)), (X, np.zeros(20))]))
    assert noise / signal >= 1
    assert signal == pytest.approx(1 / 3)


def test_the_search_ends() -> None:
    X_c, X = np.random.default_rng(0).uniform(-2, 2, (2, 200, 2))
    y = 1e6 * np.random.default_rng(1).standard_normal(200)
    signal, noise = found_by(committee_of(GP, [(X_c, np.zeros(200)), (X, y)]))
    assert np.isfinite([signal, noise]).all()
    assert noise / signal <= np.exp(FARTHEST)


@pytest.mark.parametrize("sizes", [[40, 25, 25, 25], [20, 30, 28, 29, 30]], ids=["equal", "filled up"])
def test_factors_of_a_batch_equal_those_one_by_one(sizes: list[int]) -> None:
    own = OwnVariances(np.array([1.0, *(1.5 * np.ones(len(sizes) - 1))]), np.geomspace(1, 8, len(sizes)))
    committee = replace(committee_of(GP, random_blocks(sizes, 2, seed=0)), own=own)
    communication, experts = factor_base(committee, 0), range(1, len(sizes))
    pairs: list[tuple[BaseFactor | AugmentedFactor | None, BaseFactor | AugmentedFactor]] = [
        *zip(factor_base_together(committee, experts), (factor_base(committee, e) for e in experts), strict=True),
        *zip(
            factor_augmented_together(committee, communication, experts),
            (factor_augmented(committee, communication, e) for e in experts),
            strict=True,
        ),
    ]
    for together, alone in pairs:
        assert together is not None
        torch.testing.assert_close(together.lower.tril(), alone.lower.tril(), rtol=1e-10, atol=1e-12)
        assert together.relative_noise == alone.relative_noise != 1


def test_a_factor_is_that_of_the_rows_own_noise() -> None:
    blocks = random_blocks([20, 30], 2, seed=1)
    own = OwnVariances(np.array([1.0, 2.0]), np.array([1.0, 6.0]))
    factor = factor_base(replace(committee_of(GP, blocks), own=own), 1)
    expected = factor_base(committee_of(replace(GP, noise_variance=0.15), blocks), 1)
    torch.testing.assert_close(factor.lower, expected.lower)
    torch.testing.assert_close(factor.weights, expected.weights)


@pytest.mark.parametrize("noise", [[1.0, 0.0], [1.0, np.nan], [2.0, 1.0]])
def test_impossible_variances_are_refused(noise: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="multiples above 0"):
        OwnVariances(np.ones(2), np.array(noise))
