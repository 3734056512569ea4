from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committees import committee_of, predict, random_blocks, variances
from gpcommittee.aggregation import BCM, NPAE, Communication
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.errors import InvalidParameterError, MemoryBudgetError
from gpcommittee.prediction.npae import LARGEST_CHUNK, chunk_size, npae_bytes
from naive import NaiveGP, aggregate_npae

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (7, 2))


@given(sizes=st.lists(st.integers(1, 15), min_size=1, max_size=4), seed=st.integers(0, 50))
def test_npae_is_the_papers_equations(sizes: list[int], seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [NPAE()])
    expected = np.array([aggregate_npae(GP, blocks, x) for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(variances(prediction)[1], expected[:, 1], rtol=1e-8)


def test_one_expert_is_the_exact_gp() -> None:
    npae, exact = predict(committee_of(GP, random_blocks([40], 2, seed=0)), X_TEST, [NPAE(), BCM()])
    np.testing.assert_allclose(npae.mean, exact.mean, rtol=1e-10)
    np.testing.assert_allclose(variances(npae)[0], variances(exact)[0], rtol=1e-10)


@settings(max_examples=25)
@given(sizes=st.lists(st.integers(2, 25), min_size=2, max_size=6), seed=st.integers(0, 50))
def test_variance_lies_between_the_exact_gps_and_each_experts(sizes: list[int], seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    [npae] = predict(committee_of(GP, blocks), X_TEST, [NPAE()])
    X, y = np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    exact = np.array([GP.latent_moments(X, y, x)[1] for x in X_TEST])
    assert (variances(npae)[0] >= exact * (1 - 1e-9)).all()
    for block in blocks:
        [expert] = predict(committee_of(GP, [block]), X_TEST, [Communication()])
        assert (variances(npae)[0] <= variances(expert)[0] * (1 + 1e-9)).all()


def test_expert_order_does_not_matter() -> None:
    blocks = random_blocks([10, 14, 7, 9], 2, seed=6)
    [forward] = predict(committee_of(GP, blocks), X_TEST, [NPAE()])
    [backward] = predict(committee_of(GP, blocks[::-1]), X_TEST, [NPAE()])
    np.testing.assert_allclose(forward.mean, backward.mean, rtol=1e-9)
    np.testing.assert_allclose(variances(forward)[1], variances(backward)[1], rtol=1e-9)


def test_far_from_the_data_the_prior_remains() -> None:
    [prediction] = predict(committee_of(GP, random_blocks([10, 14, 7], 2, seed=6)), np.full((1, 2), 1e3), [NPAE()])
    assert prediction.mean[0] == 0
    assert variances(prediction)[0][0] == pytest.approx(GP.signal_variance, rel=1e-12)


def test_identical_experts_need_jitter_and_get_it() -> None:
    [block] = random_blocks([12], 2, seed=1)
    [npae] = predict(committee_of(GP, [block, block]), X_TEST, [NPAE()])
    assert np.isfinite(npae.mean).all()
    assert (variances(npae)[0] > 0).all()


def test_engines_chunks_and_company_do_not_change_the_numbers() -> None:
    committee = committee_of(GP, random_blocks([9] * 8, 2, seed=3))
    x = np.random.default_rng(1).uniform(-3, 3, (2 * LARGEST_CHUNK + 5, 2))
    [alone] = predict(committee, x, [NPAE()])
    _, threads, jittered, _ = predict(
        committee, x, [BCM(), NPAE(), NPAE(jitter=1e-3), Communication()], engine=ThreadEngine(3)
    )
    np.testing.assert_array_equal(alone.mean, threads.mean)
    assert np.abs(alone.mean - jittered.mean).max() > 1e-6
    [small] = predict(committee, x[:20], [NPAE()])
    np.testing.assert_allclose(small.mean, alone.mean[:20], rtol=1e-10)


def test_no_points() -> None:
    [prediction] = predict(committee_of(GP, random_blocks([5, 5], 2, seed=3)), np.empty((0, 2)), [NPAE()])
    assert prediction.mean.shape == (0,)


def test_a_small_budget_makes_smaller_chunks_with_the_same_numbers() -> None:
    committee = committee_of(GP, random_blocks([9] * 8, 2, seed=3))
    x = np.random.default_rng(1).uniform(-3, 3, (300, 2))
    factors, chunk = npae_bytes(committee.offsets, 8, 64)
    budget = 8 * chunk + factors
    assert chunk_size(committee.offsets, 8, budget, 1) < LARGEST_CHUNK
    [small] = predict(committee, x, [NPAE()], budget=budget)
    [large] = predict(committee, x, [NPAE()])
    np.testing.assert_allclose(small.mean, large.mean, rtol=1e-9)


def test_beyond_the_budget_is_refused_with_the_estimate() -> None:
    committee = committee_of(GP, random_blocks([9] * 8, 2, seed=3))
    with pytest.raises(MemoryBudgetError, match=r"NPAE needs .* GiB .*8 experts.*the budget is .* GiB.*GRBCM"):
        predict(committee, X_TEST, [NPAE()], budget=1e3, engine=SerialEngine())


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="jitter must be a finite number of at least 0"):
        NPAE(jitter=-1.0)
