"""Which experts are blended: few, of sum 1, without a jump where one comes or goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.experts.neighbourhood import nearness
from gpcommittee.prediction.neighbourhood.shares import Shares, shares_of
from gpcommittee.records import FloatArray, IntArray


def by_leaf(shares: Shares) -> list[dict[int, float]]:
    return [
        {int(leaf): float(weight) for leaf, weight in zip(leaves, weights, strict=True) if leaf >= 0}
        for leaves, weights in zip(shares.leaves, shares.weights, strict=True)
    ]


def drawn(n_points: int, k: int, n_leaves: int, seed: int) -> tuple[FloatArray, IntArray]:
    generator = np.random.default_rng(seed)
    distances = np.sort(generator.uniform(size=(n_points, k)), axis=1)
    return distances, generator.integers(n_leaves, size=(n_points, k))


@given(k=st.integers(1, 20), n_leaves=st.integers(1, 20), blend=st.floats(0.05, 1.0), seed=st.integers(0, 1_000))
def test_they_are_the_votes_less_a_share_of_the_most(k: int, n_leaves: int, blend: float, seed: int) -> None:
    distances, leaves = drawn(5, k, n_leaves, seed)
    found = shares_of(distances, leaves, blend)
    assert found.weights.shape == found.leaves.shape
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-12)
    assert (found.weights >= 0).all()
    assert (found.weights > 0).any(axis=0).all()
    assert (np.diff(found.weights, axis=1) <= 0).all()
    assert ((found.leaves >= 0) == (found.weights > 0)).all()
    weights = nearness(distances)
    for i, one in enumerate(by_leaf(found)):
        votes = {int(leaf): float(weights[i, leaves[i] == leaf].sum()) for leaf in set(leaves[i])}
        least = (1 - blend) * max(votes.values())
        rest = {leaf: max(vote - least, 0.0) for leaf, vote in votes.items()}
        total = sum(rest.values())
        assert set(one) <= set(votes)
        for leaf, vote in rest.items():
            assert one.get(leaf, 0.0) == pytest.approx(vote / total, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 1_000), blend=st.floats(0.05, 1.0))
def test_names_of_leaves_and_the_order_of_points_do_not_matter(seed: int, blend: float) -> None:
    distances, leaves = drawn(6, 17, 5, seed)
    generator = np.random.default_rng(seed)
    names, order = 10 + generator.permutation(5), generator.permutation(6)
    expected = by_leaf(shares_of(distances, leaves, blend))
    found = by_leaf(shares_of(distances[order], names[leaves[order]], blend))
    for i, one in zip(order, found, strict=True):
        assert one == pytest.approx({int(names[leaf]): weight for leaf, weight in expected[i].items()}, rel=1e-12)


@given(seed=st.integers(0, 1_000), blend=st.floats(0.05, 1.0))
def test_rows_at_one_distance_may_stand_in_any_order(seed: int, blend: float) -> None:
    generator = np.random.default_rng(seed)
    distances = np.sort(generator.integers(1, 6, size=(1, 17)).astype(float), axis=1)
    leaves = generator.integers(6, size=(1, 17))
    swapped = leaves.copy()
    for value in np.unique(distances):
        at = np.flatnonzero(distances[0] == value)
        swapped[0, at] = leaves[0, generator.permutation(at)]
    [expected], [found] = by_leaf(shares_of(distances, leaves, blend)), by_leaf(shares_of(distances, swapped, blend))
    for leaf in range(6):
        assert found.get(leaf, 0.0) == pytest.approx(expected.get(leaf, 0.0), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n_leaves", [2, 3, 5])
def test_leaves_whose_votes_meet_have_equal_weights_from_all_sides(n_leaves: int) -> None:
    leaves, distances = np.array([[*range(n_leaves), 9]]), np.array([[0.5] * n_leaves + [1.0]])
    for leaf in range(n_leaves):
        for shift in (0.0, 1e-4, -1e-4):
            near = distances + shift * np.eye(1, n_leaves + 1, leaf)
            order = np.argsort(near[0], kind="stable")
            [one] = by_leaf(shares_of(near[:, order], leaves[:, order], 0.7))
            assert one == pytest.approx(dict.fromkeys(range(n_leaves), 1 / n_leaves), abs=1e-3)


def test_a_leaf_with_few_votes_fades_out() -> None:
    """Leaf 1 has one row beside one of leaf 0, and ends where its vote is three tenths of the other's."""
    ends = 1 - 0.3 * (1 - 0.1**2)
    for beyond, weight in ((-1e-4, 1e-3), (1e-4, 0.0)):
        distances = np.array([[0.1, np.sqrt(ends) + beyond, 1.0]])
        [one] = by_leaf(shares_of(distances, np.array([[0, 1, 2]]), 0.7))
        assert one.get(1, 0.0) == pytest.approx(weight / 2, abs=weight)


def test_equal_votes_are_still_shares() -> None:
    found = shares_of(np.zeros((1, 4)), np.array([[3, 1, 2, 0]]), 0.7)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert (found.weights >= 0).all()
    assert found.leaves[0, 0] >= 0


def test_rows_that_do_not_count_have_no_vote() -> None:
    distances = np.array([[0.0, 1.0, 2.0, np.inf]])
    found = by_leaf(shares_of(distances, np.array([[0, 1, 0, 2]]), 1.0))[0]
    assert set(found) == {0, 1}
    assert found == pytest.approx(by_leaf(shares_of(distances[:, :3], np.array([[0, 1, 0]]), 1.0))[0])


def test_one_row_and_one_leaf() -> None:
    assert by_leaf(shares_of(np.array([[3.0]]), np.array([[5]]), 0.7)) == [{5: 1.0}]
    assert by_leaf(shares_of(np.array([[0.0, 1.0]]), np.array([[5, 5]]), 0.1)) == [{5: 1.0}]
