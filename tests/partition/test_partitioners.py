"""One battery over every partitioner: what any partition of any inputs must satisfy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.partition import PARTITIONERS, PartitionSizes, partition_rows, resolve_sizes
from gpcommittee.records import FloatArray, Partition

METHODS = sorted(PARTITIONERS)
BALANCED = ["random", "tree"]
every_method = pytest.mark.parametrize("method", METHODS)


@st.composite
def inputs_and_sizes(draw: st.DrawFn) -> tuple[FloatArray, PartitionSizes]:
    """Small inputs with many ties, or none, and any sizes that fit them."""
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 4)))
    numbers = st.integers(-2, 2).map(float) | st.floats(-1e6, 1e6)
    X = draw(arrays(np.float64, shape, elements=numbers))
    n_experts = draw(st.integers(1, shape[0]))
    largest = shape[0] - (n_experts - 1)
    communication = draw(st.none() | st.integers(1 if n_experts > 1 else largest, largest))
    return X, resolve_sizes(shape[0], n_experts=n_experts, communication_size=communication)


def check_partition(partition: Partition, n_rows: int, sizes: PartitionSizes) -> None:
    np.testing.assert_array_equal(np.sort(partition.order), np.arange(n_rows))
    assert partition.n_experts == sizes.n_experts
    assert partition.sizes[0] == sizes.communication_size
    assert partition.sizes.min() >= 1
    assert partition.order.dtype == np.int64
    assert partition.offsets.dtype == np.int64
    for expert in range(partition.n_experts):
        assert (np.diff(partition.rows(expert)) > 0).all()


def same(first: Partition, second: Partition) -> bool:
    return np.array_equal(first.order, second.order) and np.array_equal(first.offsets, second.offsets)


@every_method
@given(case=inputs_and_sizes(), seed=st.integers(0, 2**63))
def test_no_row_is_lost_or_shared(method: str, case: tuple[FloatArray, PartitionSizes], seed: int) -> None:
    X, sizes = case
    before = X.copy()
    partition = partition_rows(X, method, sizes, seed)
    check_partition(partition, len(X), sizes)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("method", BALANCED)
@given(case=inputs_and_sizes(), seed=st.integers(0, 1_000))
def test_balanced_sizes_differ_by_at_most_one(method: str, case: tuple[FloatArray, PartitionSizes], seed: int) -> None:
    X, sizes = case
    others = partition_rows(X, method, sizes, seed).sizes[1:]
    assert others.max(initial=1) - others.min(initial=len(X)) <= 1


@every_method
@given(case=inputs_and_sizes(), seed=st.integers(0, 1_000))
def test_same_seed_same_partition(method: str, case: tuple[FloatArray, PartitionSizes], seed: int) -> None:
    X, sizes = case
    assert same(partition_rows(X, method, sizes, seed), partition_rows(X.copy(), method, sizes, seed))


@given(case=inputs_and_sizes(), seed=st.integers(0, 1_000))
def test_every_method_draws_the_same_communication_set(case: tuple[FloatArray, PartitionSizes], seed: int) -> None:
    X, sizes = case
    sets = [partition_rows(X, method, sizes, seed).rows(0).tolist() for method in METHODS]
    assert sets == [sets[0]] * len(METHODS)


@every_method
def test_another_seed_draws_another_communication_set(method: str) -> None:
    X, sizes = np.random.default_rng(0).normal(size=(300, 2)), PartitionSizes(4, 75)
    first, second = (partition_rows(X, method, sizes, seed).rows(0).tolist() for seed in (0, 1))
    assert first != second


@every_method
def test_memory_layout_does_not_matter(method: str) -> None:
    X, sizes = np.random.default_rng(0).normal(size=(301, 5)), PartitionSizes(7, 50)
    expected = partition_rows(X, method, sizes, 3)
    assert same(expected, partition_rows(np.asfortranarray(X), method, sizes, 3))
    assert same(expected, partition_rows(np.repeat(X, 2, axis=0)[::2], method, sizes, 3))


@every_method
def test_inputs_may_be_read_only(method: str) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    X.flags.writeable = False
    check_partition(partition_rows(X, method, PartitionSizes(5, 10), 0), 50, PartitionSizes(5, 10))


def hard_inputs() -> dict[str, FloatArray]:
    normal = np.random.default_rng(0).normal(size=(97, 3))
    return {
        "one row": np.zeros((1, 2)),
        "two rows": np.array([[0.0], [1.0]]),
        "two equal rows": np.ones((2, 3)),
        "all equal": np.full((97, 3), 0.1),
        "two distinct rows": np.repeat([[0.0, 1.0], [1.0, 0.0]], [96, 1], axis=0),
        "every row thrice": np.repeat(normal[:31], 3, axis=0),
        "one constant column": np.column_stack([normal, np.full(97, 7.0)]),
        "huge offset": normal + np.array([0.0, 1e8, -1e12]),
        "huge offset, constant": np.full((97, 2), 1e15 + 0.1),
        "mixed scales": normal * np.array([1e-9, 1.0, 1e9]),
        "one column": normal[:, :1],
        "ninety columns": np.random.default_rng(1).normal(size=(97, 90)),
        "lattice": np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2),
        "tiny": normal * 1e-200,
        "large": normal * 1e98,
        "outlier first": np.vstack([[1e9, 0.0, 0.0], normal]),
    }


@every_method
@pytest.mark.parametrize("name", sorted(hard_inputs()))
def test_hard_inputs_survive_at_every_number_of_experts(method: str, name: str) -> None:
    X = hard_inputs()[name]
    for n_experts in {1, 2, 3, 16, 50, len(X) - 1, len(X)} & set(range(1, len(X) + 1)):
        sizes = resolve_sizes(len(X), n_experts=n_experts)
        check_partition(partition_rows(X, method, sizes, 5), len(X), sizes)


@every_method
def test_one_expert_holds_every_row(method: str) -> None:
    partition = partition_rows(np.random.default_rng(0).normal(size=(20, 2)), method, PartitionSizes(1, 20), 0)
    np.testing.assert_array_equal(partition.rows(0), np.arange(20))


@every_method
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(4), "got shape (4,) of type float64"),
        (np.zeros((0, 2)), "got shape (0, 2) of type float64"),
        (np.zeros((4, 0)), "got shape (4, 0) of type float64"),
        (np.zeros((4, 1), dtype=int), "got shape (4, 1) of type int64"),
        ([[1.0], [2.0]], "got list"),
        (np.array([[0.0], [np.nan], [1.0], [2.0]]), "got values from nan to nan"),
        (np.array([[0.0], [np.inf], [1.0], [2.0]]), "got values from 0.0 to inf"),
        (np.array([[0.0], [-1e200], [1.0], [2.0]]), "standardise the columns"),
    ],
)
def test_unusable_inputs_are_refused(method: str, X: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        partition_rows(X, method, PartitionSizes(2, 2), 0)


@every_method
def test_sizes_for_other_rows_are_refused(method: str) -> None:
    with pytest.raises(InvalidParameterError, match="communication_size=8 leaves 2 of 10 rows to the other 3 experts"):
        partition_rows(np.zeros((10, 1)), method, PartitionSizes(4, 8), 0)
    with pytest.raises(InvalidParameterError, match="holds all 10 rows"):
        partition_rows(np.zeros((10, 1)), method, PartitionSizes(1, 8), 0)


@every_method
@pytest.mark.parametrize("seed", [-1, 1.0, None, True, "0"])
def test_seeds_that_are_not_counts_are_refused(method: str, seed: Any) -> None:
    with pytest.raises(InvalidParameterError, match=re.escape(f"seed must be an integer of at least 0, got {seed!r}")):
        partition_rows(np.zeros((4, 1)), method, PartitionSizes(2, 2), seed)


@pytest.mark.parametrize("method", ["k-means", "", None, np.zeros(4, dtype=int)])
def test_an_unknown_method_lists_the_valid_ones(method: Any) -> None:
    with pytest.raises(InvalidParameterError, match="choose one of random, kmeans, tree, or pass an array"):
        partition_rows(np.zeros((4, 1)), method, PartitionSizes(2, 2), 0)
