"""Leaves hold every row once, never rows of two experts, and are as large as each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.partition.leaves import cut_leaves
from gpcommittee.records import FloatArray, IntArray


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    first=st.integers(0, 15),
    leaf_size=st.integers(1, 45),
    n_features=st.integers(1, 3),
    levels=st.integers(1, 20),
    seed=st.integers(0, 100),
)
def test_no_row_is_lost_or_in_two_leaves_and_no_leaf_mixes_experts(
    sizes: list[int], first: int, leaf_size: int, n_features: int, levels: int, seed: int
) -> None:
    offsets = first + np.cumsum([0, *sizes])
    X = np.random.default_rng(seed).integers(levels, size=(offsets[-1], n_features)).astype(float)
    order, bounds, experts = cut_leaves(X, offsets, leaf_size)
    np.testing.assert_array_equal(np.sort(order), np.arange(first, offsets[-1]))
    assert (bounds[0], bounds[-1], len(bounds)) == (0, sum(sizes), len(experts) + 1)
    expert_of = np.repeat(np.arange(len(sizes)), sizes)
    leaves = np.split(order, bounds[1:-1])
    for leaf, expert in zip(leaves, experts, strict=True):
        assert set(expert_of[leaf - first]) == {expert}
        assert (np.diff(leaf) > 0).all()
    for expert, size in enumerate(sizes):
        of_expert = [len(leaf) for leaf, of in zip(leaves, experts, strict=True) if of == expert]
        assert len(of_expert) == -(-size // leaf_size)
        assert max(of_expert) <= leaf_size
        assert max(of_expert) - min(of_expert) <= 1


def mean_square(X: FloatArray, order: IntArray, bounds: IntArray) -> float:
    groups = [X[rows] for rows in np.split(order, bounds[1:-1])]
    return float(np.concatenate([((group - group.mean(axis=0)) ** 2).sum(axis=1) for group in groups]).mean())


def test_rows_of_a_leaf_are_near_each_other() -> None:
    X = np.random.default_rng(0).uniform(size=(1_600, 2))
    order, bounds, _ = cut_leaves(X, np.array([0, 1_600]), 100)
    # A square of a sixteenth has a mean squared distance of 2 (1/4)^2 / 12 from its centre.
    assert mean_square(X, order, bounds) < 1.4 * 2 * 0.25**2 / 12


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_equal_rows_are_cut_by_their_numbers(value: float) -> None:
    order, bounds, experts = cut_leaves(np.full((20, 3), value), np.array([0, 10, 20]), 4)
    np.testing.assert_array_equal(order, np.arange(20))
    np.testing.assert_array_equal(bounds, [0, 3, 6, 10, 13, 16, 20])
    np.testing.assert_array_equal(experts, [0, 0, 0, 1, 1, 1])


def test_one_row_and_leaves_of_one_row() -> None:
    order, bounds, experts = cut_leaves(np.zeros((1, 1)), np.array([0, 1]), 5)
    assert (order.tolist(), bounds.tolist(), experts.tolist()) == ([0], [0, 1], [0])
    X = np.array([[3.0], [1.0], [2.0]])
    order, bounds, experts = cut_leaves(X, np.array([0, 3]), 1)
    assert (order.tolist(), bounds.tolist(), experts.tolist()) == ([1, 2, 0], [0, 1, 2, 3], [0, 0, 0])
