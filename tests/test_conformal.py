"""Quantiles of conformal scores, against their definition in exact arithmetic and against NumPy's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.aggregation import GRBCM, GPoE, PoE
from gpcommittee.conformal import ConformalScores, conformal_quantile, conformal_scores
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import Prediction


@pytest.mark.parametrize(
    ("n_rows", "level", "k"),
    [
        (19, 0.95, 19),
        (20, 0.95, 20),
        (39, 0.95, 38),
        (1000, 0.95, 951),
        (99, 0.99, 99),
        (99, 0.55, 55),
        (9, 0.7, 7),
        (2, 0.1, 1),
        (1, 0.5, 1),
    ],
)
def test_the_quantile_is_the_kth_smallest_score(n_rows: int, level: float, k: int) -> None:
    scores = np.sort(np.random.default_rng(n_rows).exponential(size=n_rows))
    assert conformal_quantile(scores, level) == scores[k - 1]
    share = float(Fraction(k, n_rows) - Fraction(1, 2 * n_rows))
    assert conformal_quantile(scores, level) == np.quantile(scores, share, method="inverted_cdf")


@given(n_rows=st.integers(1, 400), hundredths=st.integers(1, 99))
def test_no_smaller_score_would_do(n_rows: int, hundredths: int) -> None:
    level, exact = hundredths / 100, Fraction(hundredths, 100)
    if n_rows < exact / (1 - exact):
        with pytest.raises(InvalidParameterError):
            conformal_quantile(np.arange(1.0, n_rows + 1), level)
        return
    k = int(conformal_quantile(np.arange(1.0, n_rows + 1), level))
    assert Fraction(k - 1, n_rows + 1) < exact <= Fraction(k, n_rows + 1)


def test_too_few_rows_say_how_many_are_needed() -> None:
    with pytest.raises(InvalidParameterError) as caught:
        conformal_quantile(np.arange(98.0), 0.99)
    assert str(caught.value) == (
        "A conformal interval of level 0.99 needs at least 99 calibration rows, but there are 98, which allow levels "
        "up to 98/99. Calibrate with more rows, or ask for a lower level."
    )


def test_scores_are_standardised_errors_in_order() -> None:
    y = np.array([1.0, 2.0, 3.0])
    predictions = [
        Prediction(np.array([0.0, 4.0, 3.0]), np.zeros(3), np.array([0.25, 16.0, 1.0])),
        Prediction(np.array([1.0, 2.0, 0.0]), np.zeros(3), np.array([1.0, 1.0, 9.0])),
    ]
    found = conformal_scores([PoE(), GPoE()], predictions, y, "loo")
    np.testing.assert_array_equal(found.scores, [[0.0, 0.5, 2.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(found.of(GPoE()), [0.0, 0.0, 1.0])
    assert found.n_rows == 3


def test_other_rules_and_settings_are_refused() -> None:
    scores = ConformalScores((PoE(), GRBCM(lead="first")), np.ones((2, 19)), "loo")
    with pytest.raises(InvalidParameterError) as caught:
        scores.of(PoE(level="observation"))
    assert str(caught.value) == (
        "The model has conformal scores of 'poe', GRBCM(lead='first'), but none of PoE(level='observation'). Choose "
        "one of these rules, or give the other one to conformalize(X, y, aggregations=[...])."
    )
    scores.check_calibration("loo")
    with pytest.raises(InvalidParameterError, match="with calibration='loo', but it is None now"):
        scores.check_calibration(None)
