from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from gpcommittee.errors import InvalidInputError
from gpcommittee.metrics import crps, msll, nlpd

generator = np.random.default_rng(1)
y_true = generator.normal(3.0, 2.0, 40)
mean = y_true + generator.normal(0.0, 0.5, 40)
std = generator.uniform(0.2, 1.5, 40)


def crps_by_integration(y: float, mu: float, sigma: float) -> float:
    below = integrate.quad(lambda x: stats.norm.cdf(x, mu, sigma) ** 2, mu - 40 * sigma, y, epsabs=1e-12, limit=200)[0]
    above = integrate.quad(lambda x: stats.norm.sf(x, mu, sigma) ** 2, y, mu + 40 * sigma, epsabs=1e-12, limit=200)[0]
    return float(below + above)


def test_nlpd_against_scipy() -> None:
    assert nlpd(y_true, mean, std**2) == pytest.approx(-stats.norm.logpdf(y_true, mean, std).mean(), rel=1e-13)


def test_msll_against_scipy() -> None:
    trivial = -stats.norm.logpdf(y_true, 2.5, np.sqrt(4.4)).mean()
    expected = -stats.norm.logpdf(y_true, mean, std).mean() - trivial
    assert msll(y_true, mean, std**2, y_train_mean=2.5, y_train_var=4.4) == pytest.approx(expected, rel=1e-12)


def test_the_trivial_model_scores_zero() -> None:
    flat = np.full(40, 2.5)
    assert msll(y_true, flat, np.full(40, 4.4), y_train_mean=2.5, y_train_var=4.4) == pytest.approx(0.0, abs=1e-15)


def test_msll_has_no_units() -> None:
    reference = msll(y_true, mean, std**2, y_train_mean=2.5, y_train_var=4.4)
    scaled = msll(1e12 * y_true, 1e12 * mean, 1e24 * std**2, y_train_mean=2.5e12, y_train_var=4.4e24)
    assert scaled == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize(("y", "mu", "sigma"), [(0.0, 0.0, 1.0), (1.3, -0.4, 0.7), (-5.0, 2.0, 3.0), (10.0, 0.0, 1.0)])
def test_crps_against_integration(y: float, mu: float, sigma: float) -> None:
    assert crps([y], [mu], [sigma]) == pytest.approx(crps_by_integration(y, mu, sigma), rel=1e-8)


def test_crps_is_the_mean_over_points() -> None:
    each = [crps([y], [m], [s]) for y, m, s in zip(y_true, mean, std, strict=True)]
    assert crps(y_true, mean, std) == pytest.approx(np.mean(each), rel=1e-13)


def test_crps_tends_to_the_absolute_error() -> None:
    assert crps([3.0], [1.0], [1e-9]) == pytest.approx(2.0, rel=1e-8)


@given(shift=st.floats(-1e3, 1e3), factor=st.floats(1e-3, 1e3))
def test_crps_scales_with_the_target(shift: float, factor: float) -> None:
    scaled = crps(factor * y_true + shift, factor * mean + shift, factor * std)
    assert scaled == pytest.approx(factor * crps(y_true, mean, std), rel=1e-6)


@given(st.floats(0.5, 2.0))
def test_the_true_deviation_has_the_best_scores(factor: float) -> None:
    """Proper scores: on exact quantiles of the predicted Gaussian no other deviation scores better."""
    quantiles = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    zeros, ones = np.zeros(2000), np.ones(2000)
    assert crps(quantiles, zeros, factor * ones) >= crps(quantiles, zeros, ones) - 1e-5
    assert nlpd(quantiles, zeros, factor**2 * ones) >= nlpd(quantiles, zeros, ones) - 1e-3


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match=r"var must be positive, but 2 of 3 values are not.*-1\.0 at index 1"):
        nlpd([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, -1.0, 0.0])
    with pytest.raises(InvalidInputError, match="var must be positive"):
        msll([1.0], [1.0], [0.0], y_train_mean=0.0, y_train_var=1.0)
    with pytest.raises(InvalidInputError, match="std must be positive"):
        crps([1.0], [1.0], [-1.0])
    with pytest.raises(InvalidInputError, match=r"y_train_var must be positive and finite, got 0\.0.*nlpd"):
        msll([1.0], [1.0], [1.0], y_train_mean=0.0, y_train_var=0.0)
    with pytest.raises(InvalidInputError, match="y_train_mean must be finite, got nan"):
        msll([1.0], [1.0], [1.0], y_train_mean=np.nan, y_train_var=1.0)
    with pytest.raises(InvalidInputError, match="var has 3"):
        nlpd([1.0, 2.0], [1.0, 2.0], [1.0, 1.0, 1.0])


def test_inputs_are_unchanged() -> None:
    copies = y_true.copy(), mean.copy(), std.copy()
    crps(y_true, mean, std)
    nlpd(y_true, mean, std)
    msll(y_true, mean, std, y_train_mean=0.0, y_train_var=1.0)
    for array, copy in zip((y_true, mean, std), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
