from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.errors import InvalidParameterError
from gpcommittee.persistence.jsonable import canonical_json, parse_canonical_json, to_jsonable

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_round_trip_is_exact(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert repr(parse_canonical_json(text)) == repr(parse_canonical_json(canonical_json(parse_canonical_json(text))))
    assert parse_canonical_json(text) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_survive_bit_for_bit(value: float) -> None:
    assert parse_canonical_json(canonical_json(value)).hex() == value.hex()


def test_key_order_does_not_matter() -> None:
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


def test_numpy_scalars_and_tuples_become_plain() -> None:
    value = {"n": np.int64(3), "x": np.float32(0.1), "flag": np.bool_(True), "name": np.str_("a"), "pair": (1, 2)}
    plain = to_jsonable(value)
    assert plain == {"n": 3, "x": float(np.float32(0.1)), "flag": True, "name": "a", "pair": [1, 2]}
    assert [type(item) for item in plain.values()] == [int, float, bool, str, list]


def test_lone_surrogates_survive() -> None:
    assert parse_canonical_json(canonical_json("caf\udce9")) == "caf\udce9"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_numbers_that_are_not_finite_are_refused_with_their_place(value: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"manifest\.noise\[1\] is (nan|inf|-inf); .* finite"):
        canonical_json({"noise": [1.0, value]})


@pytest.mark.parametrize("value", [np.zeros(2), {1, 2}, b"x", 1j, object(), np.complex64(1)])
def test_other_types_are_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"manifest\.a is a \w+, which .* Allowed are"):
        canonical_json({"a": value})


def test_keys_that_are_not_text_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="has the key 1 of type int; keys must be strings"):
        canonical_json({1: "a"})


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"b":1,"a":2}', '{"a":1,"a":1}', "1.50", '"\\u00E9"', "NaN", "1e999", "{"]
)
def test_only_the_canonical_text_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_canonical_json(text)


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_canonical_json("[" * 100_000 + "]" * 100_000)
