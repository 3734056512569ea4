from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gpcommittee.data import _blocks, check_finite, check_numeric
from gpcommittee.errors import GPCommitteeError, InvalidInputError


def test_finite_arrays_pass_through_uncopied() -> None:
    for values in (
        np.ones((3, 2)),
        np.ones(3),
        np.arange(3),
        np.array([True]),
        np.empty((0, 4)),
        np.ones(2, np.float32),
    ):
        assert check_finite(values) is values


def test_column_names_counts_and_first_rows() -> None:
    X = np.zeros((6, 3))
    X[[2, 4], 0] = np.nan
    X[5, 2] = np.inf
    X[3, 2] = np.nan
    with pytest.raises(InvalidInputError) as caught:
        check_finite(X, names=["größe", "b", "c d"])
    assert str(caught.value) == (
        "Input X contains NaN and infinity: column 'größe' has 2 NaN (first at row 2), column 'c d' has 1 NaN and 1 "
        "infinite (first at row 3). Every value must be finite: impute or remove these rows first."
    )


def test_numbered_columns_and_many_of_them() -> None:
    X = np.full((2, 15), -np.inf)
    with pytest.raises(InvalidInputError, match=r"contains infinity: column 0 has 2 infinite .*column 9 .* and 5 more"):
        check_finite(X)


def test_targets() -> None:
    with pytest.raises(InvalidInputError, match=r"Input y contains NaN: it has 1 NaN \(first at row 1\)"):
        check_finite(np.array([1.0, np.nan]), what="y")
    with pytest.raises(InvalidInputError, match="Input y contains infinity"):
        check_finite(np.array([1.0, -np.inf]), what="y")


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=st.floats(width=16)),
    st.integers(1, 30),
)
def test_found_exactly_when_something_is_there(X: NDArray[np.float64], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "_BLOCK_VALUES", block)
        if np.isfinite(X).all():
            check_finite(X)
            return
        with pytest.raises(InvalidInputError) as caught:
            check_finite(X)
    for column in range(X.shape[1]):
        bad = np.flatnonzero(~np.isfinite(X[:, column]))
        assert (f"column {column} has" in str(caught.value)) == bool(bad.size)
        if bad.size:
            assert f"(first at row {bad[0]})" in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1j]), "Complex data not supported"),
        (np.array([1.0, 1j], dtype=object), "Complex data not supported"),
        (np.array(["1.5"]), "holds text"),
        (np.array([b"1.5"]), "holds text"),
        (np.array([1.0, "a"], dtype=object), "holds text .*'a'"),
        (np.array([1.0, "1.5"], dtype=object), "holds text"),
        (np.array(["2020-01-01"], dtype="datetime64[s]"), "holds dates or times .*expand_dates"),
        (np.array([1], dtype="timedelta64[s]"), "holds dates or times"),
        (np.array([1.0, None], dtype=object), "contains NaN"),
        (np.array(1.0), r"one or two dimensions, got shape \(\)"),
        (np.ones((2, 2, 2)), "one or two dimensions"),
    ],
)
def test_refusals(values: NDArray[Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_finite(values)


def test_objects_that_are_no_numbers_are_type_errors_too() -> None:
    values = np.array([{"foo": "bar"}, 1.0], dtype=object)
    with pytest.raises(TypeError, match=r"argument must be .* string.* number") as caught:
        check_numeric(values)
    assert isinstance(caught.value, GPCommitteeError)


def test_object_numbers_become_float64() -> None:
    converted = check_numeric(np.array([1, 2.5, True], dtype=object))
    assert converted.dtype == np.float64
    np.testing.assert_array_equal(converted, [1.0, 2.5, 1.0])
