"""A user's labels become the partition they describe, or an error that says what is wrong with them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.errors import InvalidParameterError
from gpcommittee.partition import partition_from_labels


@given(st.integers(1, 8), st.lists(st.integers(0, 7), max_size=40), st.randoms(use_true_random=False))
def test_labels_round_trip(n_experts: int, more: list[int], shuffler: Any) -> None:
    labels = [*range(n_experts), *(label % n_experts for label in more)]
    shuffler.shuffle(labels)
    partition = partition_from_labels(labels, len(labels))
    np.testing.assert_array_equal(partition.labels(), labels)
    for expert in range(n_experts):
        np.testing.assert_array_equal(partition.rows(expert), np.flatnonzero(np.array(labels) == expert))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_any_integer_type(dtype: str) -> None:
    labels = np.array([2, 0, 1, 1], dtype=dtype)
    partition = partition_from_labels(labels, 4)
    np.testing.assert_array_equal(partition.order, [1, 2, 3, 0])
    np.testing.assert_array_equal(partition.offsets, [0, 1, 3, 4])
    assert partition.order.dtype == partition.offsets.dtype == np.int64
    np.testing.assert_array_equal(labels, [2, 0, 1, 1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "one label for each of the 3 rows, got shape (2,)"),
        ([[0], [1], [2]], "one label for each of the 3 rows, got shape (3, 1)"),
        (0, "one label for each of the 3 rows, got shape ()"),
        ([[0], [1, 2], 3], "one-dimensional array of 3 integers; NumPy says"),
        ([0.0, 1.0, 1.0], "must be integers, got type float64. Convert them with numpy.asarray(labels).astype(int)"),
        ([True, False, True], "must be integers, got type bool"),
        (["a", "b", "c"], "must be integers, got type <U1"),
        ([0, 1, None], "must be integers, got type object"),
        ([0, -1, -2], "got -1 in row 1; 2 labels are negative"),
        ([1, 2, 3], "from 0 (the communication set) to the largest, 3, but no row has label 0; 1 labels are unused"),
        ([0, 2, 5], "to the largest, 5, but no row has label 1; 3 labels are unused"),
        ([0, 1, 10**18], "but no row has label 2; 999999999999999998 labels are unused"),
        (np.array([0, 1, 2**64 - 1], dtype=np.uint64), "to the largest, 18446744073709551615, but no row has label 2"),
    ],
)
def test_refused(labels: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(message)):
        partition_from_labels(labels, 3)
