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


@given(k=st.integers(1, 20), n_leaves=st.integers(1, 20), blend=st.integers(1, 6), seed=st.integers(0, 1_000))
def test_they_are_the_votes_less_that_of_the_next(k: int, n_leaves: int, blend: int, seed: int) -> None:
    distances, leaves = drawn(5, k, n_leaves, seed)
    found = shares_of(distances, leaves, blend)
    assert found.weights.shape == found.leaves.shape == (5, min(k, blend))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-12)
    assert (found.weights >= 0).all()
    assert (np.diff(found.weights, axis=1) <= 0).all()
    assert ((found.leaves >= 0) == (found.weights > 0)).all()
    weights = nearness(distances)
    for i, one in enumerate(by_leaf(found)):
        votes = {int(leaf): float(weights[i, leaves[i] == leaf].sum()) for leaf in set(leaves[i])}
        ranked = sorted(votes, key=lambda leaf: -votes[leaf])
        least = votes[ranked[blend]] if len(ranked) > blend else 0.0
        rest = {leaf: votes[leaf] - least for leaf in ranked[:blend]}
        total = sum(rest.values())
        assert set(one) <= set(ranked[:blend])
        for leaf in ranked[:blend]:
            assert one.get(leaf, 0.0) == pytest.approx(rest[leaf] / total, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 1_000), blend=st.integers(1, 4))
def test_names_of_leaves_and_the_order_of_points_do_not_matter(seed: int, blend: int) -> None:
    distances, leaves = drawn(6, 17, 5, seed)
    generator = np.random.default_rng(seed)
    names, order = 10 + generator.permutation(5), generator.permutation(6)
    expected = by_leaf(shares_of(distances, leaves, blend))
    found = by_leaf(shares_of(distances[order], names[leaves[order]], blend))
    for i, one in zip(order, found, strict=True):
        assert one == pytest.approx({int(names[leaf]): weight for leaf, weight in expected[i].items()}, rel=1e-12)


@given(seed=st.integers(0, 1_000), blend=st.integers(1, 4))
def test_rows_at_one_distance_may_stand_in_any_order(seed: int, blend: int) -> None:
    generator = np.random.default_rng(seed)
    distances = np.sort(generator.integers(1, 6, size=(1, 17)).astype(float), axis=1)
    leaves = generator.integers(6, size=(1, 17))
    swapped = leaves.copy()
    for value in np.unique(distances):
        at = np.flatnonzero(distances[0] == value)
        swapped[0, at] = leaves[0, generator.permutation(at)]
    votes = [float(nearness(distances)[0, leaves[0] == leaf].sum()) for leaf in range(6)]
    if len(set(np.round(votes, 9))) < 6:
        return  # Of equal votes either may be the last that counts, with a weight of 0.
    [expected], [found] = by_leaf(shares_of(distances, leaves, blend)), by_leaf(shares_of(distances, swapped, blend))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("blend", [1, 2, 3])
def test_a_leaf_that_becomes_the_next_has_nothing_left(blend: int) -> None:
    """Two leaves whose votes meet: the last that counts falls to 0 there, whichever of them is ahead."""
    leaves = np.array([[*range(blend + 1), 9]])
    distances = np.array([[0.1] * (blend - 1) + [0.5, 0.5, 1.0]])
    meeting = by_leaf(shares_of(distances, leaves, blend))[0]
    assert sum(meeting.values()) == pytest.approx(1)
    assert meeting.get(blend - 1, 0.0) < 1e-12 or blend == 1
    for shift in (1e-3, 1e-5):
        ahead = distances - shift * np.eye(1, blend + 2, blend - 1)
        [one] = by_leaf(shares_of(ahead, leaves, blend))
        others = [weight for leaf, weight in one.items() if leaf != blend - 1]
        assert blend == 1 or one[blend - 1] < 10 * shift
        assert len(others) == blend - 1


def test_equal_votes_are_still_shares() -> None:
    found = shares_of(np.zeros((1, 4)), np.array([[3, 1, 2, 0]]), 3)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert (found.weights >= 0).all()
    assert found.leaves[0, 0] >= 0


def test_rows_that_do_not_count_have_no_vote() -> None:
    distances = np.array([[0.0, 1.0, 2.0, np.inf]])
    found = by_leaf(shares_of(distances, np.array([[0, 1, 0, 2]]), 3))[0]
    assert set(found) == {0, 1}
    assert found == pytest.approx(by_leaf(shares_of(distances[:, :3], np.array([[0, 1, 0]]), 3))[0])


def test_one_row_and_one_leaf() -> None:
    assert by_leaf(shares_of(np.array([[3.0]]), np.array([[5]]), 3)) == [{5: 1.0}]
    assert by_leaf(shares_of(np.array([[0.0, 1.0]]), np.array([[5, 5]]), 1)) == [{5: 1.0}]
