from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.sums import ExactSum

NUMBERS = st.lists(st.floats(-1e100, 1e100, allow_nan=False), min_size=1, max_size=30)


@given(NUMBERS, st.integers(1, 30))
def test_a_sum_is_rounded_once_however_its_terms_are_grouped(numbers: list[float], size: int) -> None:
    terms = [np.array([number, 1.0]) for number in numbers]
    parts = [ExactSum.of(terms[start : start + size]) for start in range(0, len(terms), size)]
    exact = [float(sum(map(Fraction, numbers))), float(len(numbers))]
    np.testing.assert_array_equal(ExactSum.of(terms).rounded(), exact)
    np.testing.assert_array_equal(ExactSum.together(parts).rounded(), exact)
    np.testing.assert_array_equal(ExactSum.together(parts[::-1]).rounded(), exact)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_term_that_is_not_finite_shows(bad: float) -> None:
    total = ExactSum.together([ExactSum.of([np.ones(1), np.array([bad])]), ExactSum.of([np.ones(1)])]).rounded()
    assert not np.isfinite(total).any()


def test_few_numbers_are_kept_of_many_terms() -> None:
    terms = np.random.default_rng(0).normal(size=(5000, 1)) * 10.0 ** np.arange(-5, 5).repeat(500)[:, None]
    assert len(ExactSum.of(list(terms)).parts[0]) <= 40
