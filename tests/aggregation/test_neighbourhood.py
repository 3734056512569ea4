"""Sizes of neighbourhood experts, and the settings that the rule accepts."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.aggregation import Neighbourhood
from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.aggregation.table import make_rule, rule_from_spec, rule_to_spec, written
from gpcommittee.errors import InvalidParameterError


@pytest.mark.parametrize("n_rows", [1, 2, 400, 4_000])
@pytest.mark.parametrize("n_experts", [1, 7])
def test_few_rows_have_one_expert_of_all(n_rows: int, n_experts: int) -> None:
    assert Neighbourhood().sizes(n_rows, n_experts, 8) == NeighbourhoodSizes(n_rows, n_rows, 0)


def test_one_expert_is_the_exact_process_at_any_size() -> None:
    assert Neighbourhood().sizes(100_000, 1, 8) == NeighbourhoodSizes(100_000, 100_000, 0)
    assert Neighbourhood(n_rows=50).sizes(300, 1, 8) == NeighbourhoodSizes(50, 12, 0)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "expected"),
    [
        (4_001, 8, (2_000, 125)),
        (10_000, 8, (2_000, 125)),
        (16_000, 8, (2_000, 200)),
        (20_000, 8, (2_000, 250)),
        (50_000, 8, (2_000, 250)),
        (200_000, 8, (1_000, 250)),
        (800_000, 8, (500, 125)),
        (10_000_000, 8, (500, 125)),
        (4_001, 1, (500, 125)),
        (50_000, 2, (500, 125)),
        (50_000, 3, (500, 125)),
        (50_000, 4, (1_000, 250)),
        (50_000, 5, (1_500, 250)),
        (50_000, 6, (2_000, 250)),
        (200_000, 4, (500, 125)),
        (200_000, 3, (500, 125)),
    ],
)
def test_defaults_by_rows_and_inputs(n_rows: int, n_features: int, expected: tuple[int, int]) -> None:
    sizes = Neighbourhood().sizes(n_rows, 9, n_features)
    assert (sizes.n_rows, sizes.leaf_size, sizes.communication) == (*expected, 0)


def test_the_default_never_jumps_up_with_the_number_of_rows() -> None:
    found = [Neighbourhood().sizes(n, 2, 8).n_rows for n in range(4_001, 1_000_000, 997)]
    assert all(after <= before for before, after in pairwise(found))
    assert max(before - after for before, after in pairwise(found)) <= 20


@given(
    n_rows=st.none() | st.integers(2, 5_000),
    leaf_size=st.none() | st.integers(1, 5_000),
    communication=st.integers(0, 5_000),
    rows=st.integers(1, 100_000),
    n_experts=st.integers(1, 50),
    n_features=st.integers(1, 20),
)
def test_sizes_fit_into_each_other(
    n_rows: int | None, leaf_size: int | None, communication: int, rows: int, n_experts: int, n_features: int
) -> None:
    sizes = Neighbourhood(n_rows, leaf_size, communication).sizes(rows, n_experts, n_features)
    assert 1 <= sizes.n_rows <= rows
    assert sizes.leaf_size >= 1
    if sizes.n_rows == rows:
        assert (sizes.leaf_size, sizes.communication) == (rows, 0)
        return
    assert sizes.n_rows == n_rows or n_rows is None
    assert sizes.leaf_size == leaf_size or leaf_size is None
    assert sizes.communication == min(communication, max(0, sizes.n_rows - sizes.leaf_size))
    if leaf_size is None:
        assert sizes.leaf_size <= max(1, sizes.n_rows // 4)


@pytest.mark.parametrize(("setting", "least"), [("n_rows", 2), ("leaf_size", 1), ("communication", 0)])
@pytest.mark.parametrize("value", ["below", 2.5, "3", True])
def test_impossible_settings_are_refused(setting: str, least: int, value: Any) -> None:
    given = least - 1 if value == "below" else value
    with pytest.raises(InvalidParameterError, match=f"Neighbourhood: {setting}"):
        Neighbourhood(**{setting: given})


@pytest.mark.parametrize("value", [0, -0.5, 1.1, math.nan, "1", True])
def test_an_impossible_blend_is_refused(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match="Neighbourhood: blend"):
        Neighbourhood(blend=value)


@pytest.mark.parametrize("setting", ["communication", "blend"])
def test_settings_that_have_no_default_by_size_may_not_be_none(setting: str) -> None:
    with pytest.raises(InvalidParameterError, match=setting):
        Neighbourhood(**{setting: None})  # type: ignore[arg-type]


def test_the_least_of_every_setting_is_allowed() -> None:
    sizes = Neighbourhood(n_rows=2, leaf_size=1, communication=0, blend=1e-9).sizes(10, 3, 2)
    assert sizes == NeighbourhoodSizes(2, 1, 0)


def test_it_has_a_name_and_a_spec() -> None:
    rule = Neighbourhood(n_rows=300, blend=0.5)
    assert make_rule("neighbourhood") == Neighbourhood()
    assert (written(Neighbourhood()), written(rule)) == ("'neighbourhood'", "Neighbourhood(n_rows=300, blend=0.5)")
    assert rule_from_spec(rule_to_spec(rule)) == rule
