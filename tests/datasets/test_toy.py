from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gpcommittee.datasets import make_toy, toy_function
from gpcommittee.errors import InvalidParameterError


@pytest.mark.parametrize("x", [-0.2, 0.0, 0.31, 1.0, 1.2])
def test_function_by_hand(x: float) -> None:
    expected = 5 * x * x * math.sin(12 * x) + (x**3 - 0.5) * math.sin(3 * x - 0.5) + 4 * math.cos(2 * x)
    assert toy_function(np.array([x]))[0] == pytest.approx(expected, rel=1e-14)


def test_noise_is_gaussian_with_variance_a_quarter() -> None:
    toy = make_toy(20_000, seed=0)
    noise = toy.y - toy.f
    assert noise.var() == pytest.approx(0.25, rel=0.03)
    assert stats.kstest(noise, stats.norm(0.0, 0.5).cdf).pvalue > 0.01
    assert stats.kstest(toy.X[:, 0], stats.uniform(0.0, 1.0).cdf).pvalue > 0.01
    np.testing.assert_array_equal(toy.f, toy_function(toy.X[:, 0]))


def test_range_and_seed() -> None:
    toy = make_toy(500, seed=3, x_range=(-0.2, 1.2))
    assert toy.X.shape == (500, 1)
    assert -0.2 <= toy.X.min() < -0.15
    assert 1.15 < toy.X.max() <= 1.2
    np.testing.assert_array_equal(toy.y, make_toy(500, seed=3, x_range=(-0.2, 1.2)).y)
    assert not np.array_equal(toy.y, make_toy(500, seed=4, x_range=(-0.2, 1.2)).y)


def test_refusals() -> None:
    with pytest.raises(InvalidParameterError, match="n must be at least 1, got 0"):
        make_toy(0)
    for wrong in ((1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(InvalidParameterError, match="x_range must be two finite numbers that rise"):
            make_toy(3, x_range=wrong)
