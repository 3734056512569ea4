"""The tree's leaves are neighbourhoods, all of one size."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from threadpoolctl import threadpool_info, threadpool_limits

from gpcommittee.partition import PartitionSizes, random_partition, resolve_sizes, tree_partition
from gpcommittee.records import FloatArray, Partition


def within_spread(X: FloatArray, partition: Partition) -> float:
    """Mean squared distance of rows to their expert's mean, the communication set left out."""
    groups = [X[partition.rows(expert)] for expert in range(1, partition.n_experts)]
    return float(np.concatenate([((group - group.mean(axis=0)) ** 2).sum(axis=1) for group in groups]).mean())


@given(
    x=arrays(np.float64, st.integers(3, 60), elements=st.floats(-1e3, 1e3)),
    seed=st.integers(0, 100),
    data=st.data(),
)
def test_in_one_dimension_leaves_are_consecutive_intervals(x: FloatArray, seed: int, data: st.DataObject) -> None:
    sizes = resolve_sizes(len(x), n_experts=data.draw(st.integers(2, len(x))))
    partition = tree_partition(x[:, None], sizes, seed)
    rest = np.flatnonzero(partition.labels() > 0)
    by_value = rest[np.argsort(x[rest], kind="stable")]
    expected = np.split(by_value, np.cumsum(partition.sizes[1:-1]))
    for expert, rows in enumerate(expected, start=1):
        np.testing.assert_array_equal(partition.rows(expert), np.sort(rows))


@pytest.mark.parametrize("n_experts", [2, 3, 6, 7, 12])
def test_leaves_are_separated_by_hyperplanes(n_experts: int) -> None:
    """Two leaves part at one node, so the direction of that cut separates them; a linear program finds it."""
    X = np.random.default_rng(n_experts).normal(size=(150, 2)) * [3, 1]
    partition = tree_partition(X, resolve_sizes(150, n_experts=n_experts), 0)
    for first, second in combinations(range(1, n_experts), 2):
        low, high = X[partition.rows(first)], X[partition.rows(second)]
        rows = np.vstack([np.column_stack([low, -np.ones(len(low))]), np.column_stack([-high, np.ones(len(high))])])
        found = linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None))
        assert found.status == 0


@pytest.mark.parametrize("n_features", [2, 8])
def test_leaves_are_tighter_than_random_experts(n_features: int) -> None:
    X = np.random.default_rng(0).normal(size=(2_000, n_features))
    sizes = resolve_sizes(2_000, n_experts=33)
    assert within_spread(X, tree_partition(X, sizes, 0)) < 0.6 * within_spread(X, random_partition(X, sizes, 0))


@given(exponent=st.integers(-20, 20), seed=st.integers(0, 50))
def test_scale_and_offset_do_not_matter(exponent: int, seed: int) -> None:
    X = np.random.default_rng(seed).integers(-100, 100, size=(60, 3)).astype(float)
    sizes = resolve_sizes(60, n_experts=7)
    moved = (X + 2.0**20) * 2.0**exponent
    np.testing.assert_array_equal(tree_partition(X, sizes, seed).order, tree_partition(moved, sizes, seed).order)


def test_constant_inputs_are_divided_by_row_number() -> None:
    partition = tree_partition(np.full((50, 3), 0.1), PartitionSizes(4, 5), 0)
    rest = np.setdiff1d(np.arange(50), partition.rows(0))
    np.testing.assert_array_equal(partition.order[5:], rest)


def test_many_blocks_and_leaves() -> None:
    X = np.random.default_rng(0).normal(size=(150_000, 3))
    partition = tree_partition(X, resolve_sizes(150_000, n_experts=301), 0)
    assert set(partition.sizes.tolist()) == {498, 499}
    assert within_spread(X, partition) < 0.3


def test_blas_threads_are_restored_and_do_not_matter() -> None:
    X = np.random.default_rng(0).normal(size=(3_000, 40))
    sizes = resolve_sizes(3_000, n_experts=9)
    orders = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads, user_api="blas"):
            before = threadpool_info()
            orders.append(tree_partition(X, sizes, 0).order)
            assert threadpool_info() == before
    np.testing.assert_array_equal(orders[0], orders[1])
