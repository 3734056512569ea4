from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gpcommittee.choices import (
    check_choice,
    check_count,
    check_count_or_name,
    check_optional_positive,
    check_positive,
)
from gpcommittee.errors import InvalidParameterError


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_of_any_integer_type_are_ints(value: object) -> None:
    for found in (check_count("n", value), check_count("n", value, 3), check_count_or_name("n", value, ("all",))):
        assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True, np.True_, np.array([3]), 1j])
def test_what_is_no_count_is_refused_with_its_value(value: object) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        check_count("n", value)
    assert str(caught.value) == f"n must be an integer of at least 1, got {value!r}."
    with pytest.raises(InvalidParameterError) as caught:
        check_count_or_name("n", value, ("auto", "all"))
    assert str(caught.value) == f"n must be 'auto', 'all' or an integer of at least 1, got {value!r}."


def test_the_least_is_allowed_and_what_is_below_it_is_not() -> None:
    assert [check_count("n", least, least) for least in (-2, 0, 1, 7)] == [-2, 0, 1, 7]
    with pytest.raises(InvalidParameterError, match="n must be an integer of at least 7, got 6"):
        check_count("n", 6, 7)


def test_names_beside_counts() -> None:
    assert check_count_or_name("n", "all", ("auto", "all")) == "all"
    with pytest.raises(InvalidParameterError, match="n must be 'auto', 'all' or an integer of at least 1, got 'some'"):
        check_count_or_name("n", "some", ("auto", "all"))


@pytest.mark.parametrize("value", [["a"], 1, np.array(["a"]), "b"])
def test_choices_are_names_or_none(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"n must be one of \('a', None\), got "):
        check_choice("n", value, ("a", None))
    for allowed in ("a", None):
        check_choice("n", allowed, ("a", None))


@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.5), Fraction(1, 2)])
def test_numbers_of_any_real_type_are_floats(value: Any) -> None:
    for check in (check_positive, check_optional_positive):
        found = check("x", value)
        assert (found, type(found)) == (float(value), float)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, True, "1", 1j, [1.0]])
def test_what_is_no_such_number_is_refused_with_its_value(value: object) -> None:
    for check, allowed in ((check_positive, "above 0"), (check_optional_positive, "above 0 or None")):
        with pytest.raises(InvalidParameterError) as caught:
            check("x", value)
        assert str(caught.value) == f"x must be a finite number {allowed}, got {value!r}."


def test_zero_and_none() -> None:
    assert check_optional_positive("x", None) is None
    for check in (check_positive, check_optional_positive):
        with pytest.raises(InvalidParameterError, match="above 0"):
            check("x", 0.0)
