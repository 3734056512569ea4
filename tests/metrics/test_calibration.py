from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.metrics import (
    LEVELS,
    coverage,
    coverage_curve,
    half_width_in_deviations,
    interval_width,
    mean_squared_z,
)


@given(st.floats(0.01, 0.99))
def test_coverage_of_exact_quantiles_is_the_level(level: float) -> None:
    mu, sigma = 4.0, 3.0
    quantiles = stats.norm.ppf((np.arange(4000) + 0.5) / 4000, mu, sigma)
    covered = coverage(quantiles, np.full(4000, mu), np.full(4000, sigma), level)
    assert covered == pytest.approx(level, abs=1e-3)


def test_the_ends_belong_to_the_interval() -> None:
    edge = half_width_in_deviations(0.9)
    assert coverage([edge, -edge, np.nextafter(edge, 9.0)], [0.0] * 3, [1.0] * 3, level=0.9) == pytest.approx(2 / 3)


def test_the_coverage_curve_against_scipy() -> None:
    generator = np.random.default_rng(0)
    y, std = generator.normal(size=500), generator.uniform(0.5, 2.0, 500)
    low, high = stats.norm.interval(np.array(LEVELS)[:, None], loc=0.3, scale=std)
    expected = ((low <= y) & (y <= high)).mean(axis=1)
    np.testing.assert_array_equal(coverage_curve(y, np.full(500, 0.3), std), expected)
    assert LEVELS == (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def test_a_coverage_curve_holds_the_coverage_at_each_level() -> None:
    y, mean, std = [0.0, 1.9, 3.0, -1.0], [0.0] * 4, [1.0] * 4
    np.testing.assert_array_equal(coverage_curve(y, mean, std, [0.95, 0.5]), [0.75, 0.25])
    assert coverage_curve(y, mean, std, []).shape == (0,)
    with pytest.raises(InvalidParameterError, match=r"strictly between 0 and 1, got 1.0"):
        coverage_curve(y, mean, std, [0.5, 1.0])


def test_interval_width_against_scipy() -> None:
    std = np.array([0.5, 2.0, 1.0])
    low, high = stats.norm.interval(0.8, scale=std)
    assert interval_width(std, level=0.8) == pytest.approx(np.mean(high - low), rel=1e-13)


def test_mean_squared_z_by_hand() -> None:
    assert mean_squared_z([3.0, 0.0], [1.0, 3.0], [2.0, 1.0]) == pytest.approx((1.0 + 9.0) / 2.0)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, np.nan, "0.9", None, [0.5, 0.9], True])
def test_level_is_checked(level: Any) -> None:
    with pytest.raises(InvalidParameterError, match="level must lie strictly between 0 and 1"):
        coverage([1.0], [1.0], [1.0], level)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="std must be positive"):
        coverage([1.0], [1.0], [0.0])
    with pytest.raises(InvalidInputError, match="std must be positive"):
        mean_squared_z([1.0], [1.0], [0.0])
    with pytest.raises(InvalidInputError, match="std is empty"):
        interval_width([])
    with pytest.raises(InvalidInputError, match="y_true has 2"):
        mean_squared_z([1.0, 2.0], [1.0], [1.0])
