"""What the user asks for becomes a number of experts and a communication size, or an error that says why not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.errors import InvalidParameterError
from gpcommittee.partition import PartitionSizes, resolve_sizes
from gpcommittee.partition.sizes import balanced_offsets, check_fit


@pytest.mark.parametrize(
    ("settings", "n_experts", "communication_size"),
    [
        ({"n_rows": 1}, 1, 1),
        ({"n_rows": 2}, 1, 2),
        ({"n_rows": 1_000}, 1, 1_000),
        ({"n_rows": 1_001}, 2, 200),
        ({"n_rows": 10_000}, 9, 2_000),
        ({"n_rows": 40_000}, 79, 1_000),
        ({"n_rows": 1_800_000}, 3_600, 500),
        ({"n_rows": 10_000, "n_experts": 16}, 16, 625),
        ({"n_rows": 10_000, "n_experts": np.int32(16)}, 16, 625),
        ({"n_rows": 7, "n_experts": 7}, 7, 1),
        ({"n_rows": 7, "n_experts": 3}, 3, 2),
        ({"n_rows": 9, "n_experts": 1}, 1, 9),
        ({"n_rows": 9, "n_experts": 1, "communication_size": 9}, 1, 9),
        ({"n_rows": 9, "n_experts": 4, "communication_size": 6}, 4, 6),
        ({"n_rows": 10_000, "expert_size": 500}, 20, 500),
        ({"n_rows": 10_001, "expert_size": 500}, 21, 476),
        ({"n_rows": 100, "expert_size": 1_000}, 1, 100),
        ({"n_rows": 3, "expert_size": 1}, 3, 1),
        ({"n_rows": 10_000, "expert_size": 500, "communication_size": 1_000}, 19, 1_000),
        ({"n_rows": 10_000, "expert_size": 500, "communication_size": 999}, 20, 999),
        ({"n_rows": 100, "expert_size": 1_000, "communication_size": 20}, 2, 20),
        ({"n_rows": 100, "expert_size": 10, "communication_size": 100}, 1, 100),
        ({"n_rows": 1_500, "communication_size": 400}, 3, 400),
        ({"n_rows": 100, "communication_size": 20}, 2, 20),
        ({"n_rows": 100, "communication_size": 100}, 1, 100),
    ],
)
def test_every_combination(settings: dict[str, Any], n_experts: int, communication_size: int) -> None:
    sizes = resolve_sizes(**settings)
    assert sizes == PartitionSizes(n_experts, communication_size)
    assert type(sizes.n_experts) is int
    assert type(sizes.communication_size) is int


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_rows": 0}, "n_rows must be an integer of at least 1, got 0."),
        ({"n_rows": 9, "n_experts": 2, "expert_size": 4}, "n_experts=2 and expert_size=4 were both given"),
        ({"n_rows": 9, "n_experts": 10}, "n_experts=10 exceeds the 9 rows"),
        ({"n_rows": 9, "n_experts": 0}, "n_experts must be an integer of at least 1, got 0."),
        ({"n_rows": 9, "n_experts": -3}, "n_experts must be an integer of at least 1, got -3."),
        ({"n_rows": 9, "n_experts": 2.0}, "n_experts must be an integer of at least 1, got 2.0."),
        ({"n_rows": 9, "n_experts": "4"}, "n_experts must be an integer of at least 1, got '4'."),
        ({"n_rows": 9, "n_experts": True}, "n_experts must be an integer of at least 1, got True."),
        ({"n_rows": 9, "n_experts": np.True_}, "n_experts must be an integer of at least 1, got np.True_"),
        ({"n_rows": 9, "expert_size": 0}, "expert_size must be an integer of at least 1, got 0."),
        ({"n_rows": 9, "expert_size": 2.5}, "expert_size must be an integer of at least 1, got 2.5"),
        ({"n_rows": 9, "expert_size": False}, "expert_size must be an integer of at least 1, got False"),
        ({"n_rows": 9, "communication_size": 0}, "communication_size must be an integer of at least 1, got 0."),
        ({"n_rows": 9, "communication_size": 1.0}, "communication_size must be an integer of at least 1, got 1.0"),
        ({"n_rows": 9, "communication_size": 10}, "communication_size=10 exceeds the 9 rows; choose a value from 1"),
        ({"n_rows": 9, "n_experts": 1, "communication_size": 5}, "communication_size=5 does not fit one expert"),
        (
            {"n_rows": 9, "n_experts": 4, "communication_size": 7},
            "communication_size=7 leaves 2 of 9 rows to the other 3 experts, and each needs a row. "
            "Choose communication_size at most 6, or fewer experts.",
        ),
        ({"n_rows": 9, "n_experts": 2, "communication_size": 9}, "leaves 0 of 9 rows to the other 1 experts"),
    ],
)
def test_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        resolve_sizes(**settings)


@given(n_rows=st.integers(1, 5_000), data=st.data())
def test_all_balanced_sizes_differ_by_at_most_one(n_rows: int, data: st.DataObject) -> None:
    n_experts = data.draw(st.integers(1, n_rows))
    sizes = resolve_sizes(n_rows, n_experts=n_experts)
    others = np.diff(balanced_offsets(n_rows - sizes.communication_size, n_experts - 1))
    every = [sizes.communication_size, *others.tolist()]
    assert sum(every) == n_rows
    assert max(every) - min(every) <= 1


@given(n_rows=st.integers(1, 5_000), expert_size=st.integers(1, 6_000), data=st.data())
def test_no_expert_exceeds_the_expert_size(n_rows: int, expert_size: int, data: st.DataObject) -> None:
    communication = data.draw(st.none() | st.integers(1, n_rows))
    sizes = resolve_sizes(n_rows, expert_size=expert_size, communication_size=communication)
    others = np.diff(balanced_offsets(n_rows - sizes.communication_size, sizes.n_experts - 1))
    assert sizes.communication_size <= (communication or expert_size)
    assert max(others, default=0) <= expert_size
    assert min(others, default=1) >= 1


def test_sizes_check_themselves_and_the_rows() -> None:
    with pytest.raises(InvalidParameterError, match="n_experts must be an integer of at least 1, got 0"):
        PartitionSizes(0, 3)
    with pytest.raises(InvalidParameterError, match="leaves 0 of 4 rows"):
        check_fit(PartitionSizes(3, 5), 4)


def test_offsets_of_a_large_partition_do_not_overflow() -> None:
    offsets = balanced_offsets(10**8, 200_000)
    assert offsets[-1] == 10**8
    assert set(np.diff(offsets).tolist()) == {500}
