"""Splits from a sample: the tree's own groups where the sample is everything, sizes near the target where it is not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.partition.routing import apportion, find_routes, group_bounds, leaf_offsets
from gpcommittee.partition.sizes import balanced_offsets
from gpcommittee.partition.tree import cut_tree
from gpcommittee.records import FloatArray


def inputs(n_rows: int, n_features: int, seed: int, decimals: int = 9) -> FloatArray:
    generator = np.random.default_rng(seed)
    return np.asarray(generator.normal(size=(n_rows, n_features)) * np.arange(1, n_features + 1)).round(decimals)


@given(n_leaves=st.integers(1, 5_000), least=st.integers(1, 40), most=st.integers(1, 300))
def test_groups_are_halves_of_the_tree_within_the_limits(n_leaves: int, least: int, most: int) -> None:
    bounds = group_bounds(n_leaves, least, most)
    sizes = np.diff(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == n_leaves
    assert len(sizes) <= most
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == 1 or sizes.min() >= least


@pytest.mark.parametrize("decimals", [9, 0])
@pytest.mark.parametrize(("n_rows", "n_leaves"), [(400, 37), (777, 64), (50, 50)])
def test_of_all_rows_the_groups_are_the_trees(n_rows: int, n_leaves: int, decimals: int) -> None:
    X, numbers = inputs(n_rows, 3, seed=n_rows, decimals=decimals), np.arange(n_rows)
    offsets, bounds = balanced_offsets(n_rows, n_leaves), group_bounds(n_leaves, leaves_per_group=4)
    routes = find_routes(X, numbers, offsets, len(bounds) - 1)
    groups = routes.groups(X, numbers)
    assert routes.n_groups == len(bounds) - 1 > 1

    within = leaf_offsets(np.bincount(groups, minlength=routes.n_groups), offsets)
    rows = [np.flatnonzero(groups == group) for group in range(routes.n_groups)]
    order = np.concatenate([r[cut_tree(X[r], np.arange(len(r)), o)] for r, o in zip(rows, within, strict=True)])

    np.testing.assert_array_equal(order, cut_tree(X, numbers, offsets))
    np.testing.assert_array_equal(np.concatenate([np.diff(o) for o in within]), np.diff(offsets))


@pytest.mark.parametrize("decimals", [9, 0])
def test_from_a_sample_sizes_stay_within_a_tenth_of_the_target(decimals: int) -> None:
    X, n_leaves = inputs(40_000, 4, seed=1, decimals=decimals), 800
    sample = np.sort(np.random.default_rng(2).choice(len(X), 8_000, replace=False))
    offsets, bounds = balanced_offsets(len(X), n_leaves), group_bounds(n_leaves)
    routes = find_routes(X[sample], sample, offsets, len(bounds) - 1)
    counts = np.bincount(routes.groups(X, np.arange(len(X))), minlength=routes.n_groups)

    sizes = np.concatenate([np.diff(o) for o in leaf_offsets(counts, offsets)])

    assert len(sizes) == n_leaves
    assert sizes.sum() == len(X)
    assert not np.array_equal(sizes, np.diff(offsets))
    np.testing.assert_allclose(sizes, len(X) / n_leaves, rtol=0.1)


def test_rows_go_to_the_same_group_whatever_part_they_come_in() -> None:
    X = inputs(3_000, 5, seed=3)
    numbers = np.arange(len(X))
    routes = find_routes(X[::3], numbers[::3], balanced_offsets(len(X), 60), 4)
    whole = routes.groups(X, numbers)
    cuts = [0, 1, 1, 700, 2_999, 3_000]
    parts = [routes.groups(X[a:b], numbers[a:b]) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@given(counts=st.lists(st.integers(0, 1_000), min_size=1, max_size=20), share=st.floats(0, 1))
def test_leaves_are_apportioned_by_rows(counts: list[int], share: float) -> None:
    rows = np.array([*counts, 5])
    least, most = int((rows > 0).sum()), int(rows.sum())
    n_leaves = least + int(share * (most - least))
    shares = apportion(rows, n_leaves)
    assert shares.sum() == n_leaves
    assert (shares[rows > 0] >= 1).all()
    assert (shares <= rows).all()
