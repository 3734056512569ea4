from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from committees import committee_of, random_blocks
from gpcommittee.experts import augmented_moments, base_mean, base_moments, factor_augmented, factor_base, project
from gpcommittee.kernels import KernelFunction, make_kernel
from naive import NaiveGP

SIZES = st.lists(st.integers(1, 25), min_size=2, max_size=4)
NOISES = st.sampled_from([1e-4, 1e-2, 1.0])


def points(n_features: int, n: int = 6) -> np.ndarray:
    return np.random.default_rng(9).uniform(-3, 3, (n, n_features))


@given(sizes=SIZES, n_features=st.integers(1, 3), noise=NOISES)
def test_base_moments_are_the_exact_posterior(sizes: list[int], n_features: int, noise: float) -> None:
    gp = NaiveGP(np.linspace(0.5, 1.5, n_features), 1.7, noise)
    blocks, x = random_blocks(sizes, n_features, seed=1), points(n_features)
    committee, x_ = committee_of(gp, blocks), torch.from_numpy(x)
    for expert, (X, y) in enumerate(blocks):
        factor = factor_base(committee, expert)
        moments = base_moments(committee, factor, x_, committee.prior_variance(x_))
        expected = np.array([gp.latent_moments(X, y, point) for point in x])
        np.testing.assert_allclose(moments.mean, expected[:, 0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(moments.var_latent, expected[:, 1], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(base_mean(committee, factor, x_), expected[:, 0], rtol=1e-8, atol=1e-10)


@given(sizes=SIZES, n_features=st.integers(1, 3), noise=NOISES)
def test_augmented_moments_are_the_exact_posterior_on_the_union(
    sizes: list[int], n_features: int, noise: float
) -> None:
    gp = NaiveGP(np.linspace(0.5, 1.5, n_features), 1.7, noise)
    blocks, x = random_blocks(sizes, n_features, seed=2), points(n_features)
    committee, x_ = committee_of(gp, blocks), torch.from_numpy(x)
    prior = committee.prior_variance(x_)
    communication = factor_base(committee, 0)
    projection = project(committee, communication, x_, prior)
    for expert in range(1, len(blocks)):
        factor = factor_augmented(committee, communication, expert)
        moments = augmented_moments(committee, factor, projection, x_, prior)
        X, y = np.vstack([blocks[0][0], blocks[expert][0]]), np.append(blocks[0][1], blocks[expert][1])
        expected = np.array([gp.latent_moments(X, y, point) for point in x])
        np.testing.assert_allclose(moments.mean, expected[:, 0], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(moments.var_latent, expected[:, 1], rtol=1e-8, atol=1e-9)
        assert (moments.var_latent <= projection.moments.var_latent).all()


def test_rows_that_the_communication_set_determines_are_factored() -> None:
    committee = committee_of(NaiveGP(np.array([3.0]), 1.0, 1e-20), random_blocks([60, 60], 1, seed=3))
    factor = factor_augmented(committee, factor_base(committee, 0), 1)
    assert 0 < factor.jitter < 1e-2
    assert torch.isfinite(factor.lower).all()


def test_a_committee_in_float32_works_with_factors_in_float64() -> None:
    double = committee_of(NaiveGP(np.array([1.0, 2.0]), 1.0, 1e-6), random_blocks([30, 40], 2, seed=3))
    kernel = KernelFunction(make_kernel("squared_exponential", 2), torch.float32)
    single = replace(double, kernel=kernel, X=double.X.float(), y=double.y.float())
    x = torch.from_numpy(points(2)).float()
    prior = single.prior_variance(x)
    communication = factor_base(single.as_type(torch.float64), 0)
    projection = project(single, communication, x, prior)
    moments = augmented_moments(single, factor_augmented(single, communication, 1), projection, x, prior)
    x_, prior_, communication_ = x.double(), double.prior_variance(x.double()), factor_base(double, 0)
    expected = augmented_moments(
        double,
        factor_augmented(double, communication_, 1),
        project(double, communication_, x_, prior_),
        x_,
        prior_,
    )
    assert moments.mean.dtype == torch.float32
    torch.testing.assert_close(moments.mean.double(), expected.mean, rtol=0, atol=1e-3)
    torch.testing.assert_close(moments.var_latent.double(), expected.var_latent, rtol=1e-3, atol=1e-7)
    base = base_moments(single, communication, x, prior).mean
    torch.testing.assert_close(base_mean(single, communication, x), base, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("noise", [1e-8, 1e-14])
def test_variance_stays_positive_where_rounding_would_make_it_negative(noise: float) -> None:
    gp = NaiveGP(np.array([1.0]), 1.0, noise)
    blocks = [(X, y) for X, y in random_blocks([40, 40], 1, seed=3)]
    committee = committee_of(gp, blocks)
    x = torch.from_numpy(blocks[0][0])
    prior = committee.prior_variance(x)
    communication = factor_base(committee, 0)
    projection = project(committee, communication, x, prior)
    augmented = augmented_moments(committee, factor_augmented(committee, communication, 1), projection, x, prior)
    assert (projection.moments.var_latent > 0).all()
    assert (augmented.var_latent > 0).all()
