"""Leaves of a committee and the rows around each, against a search through all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from committees import committee_of, random_blocks
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.experts import Committee
from naive import NaiveGP
from neighbourhoods import leaves_of, written_out

GP = NaiveGP(np.array([0.4, 1.6]), 1.5, 0.05)


def committee(sizes: list[int] | None = None) -> Committee:
    return committee_of(GP, random_blocks(sizes or [20, 35, 30, 40], 2, seed=1))


@pytest.mark.parametrize("communication", [0, 7, 20, 500])
@pytest.mark.parametrize(("n_rows", "leaf_size"), [(30, 6), (12, 12), (2, 1), (50, 3), (124, 40)])
def test_rows_of_an_expert_are_those_around_its_leaf(n_rows: int, leaf_size: int, communication: int) -> None:
    rule = Neighbourhood(n_rows, leaf_size, communication)
    members = committee()
    leaves, naive = leaves_of(members, rule), written_out(GP, members, rule)
    held = leaves.sizes.communication
    assert held == min(communication, 20, max(0, n_rows - leaf_size))
    for leaf in range(leaves.n_leaves):
        places, n_middle = leaves.rows_of(leaf)
        rows, middle = naive.rows_of(leaf)
        assert len(set(places.tolist())) == len(places) <= max(n_rows, leaf_size)
        assert places[:held].tolist() == list(range(held))
        assert places[len(places) - len(leaves.own(leaf)) :].tolist() == leaves.own(leaf).tolist()
        assert sorted(places.tolist()) == sorted(rows)
        assert sorted(places[len(places) - n_middle :].tolist()) == sorted(middle)
        centre = leaves.points[leaves.own(leaf)].mean(axis=0)
        around = places[held : len(places) - len(leaves.own(leaf))]
        assert (np.diff(np.linalg.norm(leaves.points[around] - centre, axis=1)) <= 1e-12).all()


def test_rows_are_measured_by_the_lengthscales() -> None:
    found = leaves_of(committee(), Neighbourhood(n_rows=20))
    assert found.scales[1] / found.scales[0] == pytest.approx(4, rel=1e-6)
    np.testing.assert_allclose(found.points, committee().X.numpy() / found.scales)


def test_every_leaf_is_of_one_expert_and_none_of_the_communication_set() -> None:
    found = leaves_of(committee(), Neighbourhood(n_rows=30, leaf_size=9))
    expert_of = np.repeat(np.arange(4), [20, 35, 30, 40])
    np.testing.assert_array_equal(np.sort(found.order), np.arange(20, 125))
    for leaf, expert in enumerate(found.experts):
        assert set(expert_of[found.own(leaf)]) == {expert}
    assert (found.leaf_of[:20] == -1).all()
    for leaf in range(found.n_leaves):
        np.testing.assert_array_equal(np.flatnonzero(found.leaf_of == leaf), found.own(leaf))


@pytest.mark.parametrize("communication", [0, 5])
def test_one_expert_has_leaves_of_all_its_rows_each_once(communication: int) -> None:
    found = leaves_of(committee([50]), Neighbourhood(n_rows=20, leaf_size=6, communication=communication))
    np.testing.assert_array_equal(np.sort(found.order), np.arange(50))
    for leaf in range(found.n_leaves):
        places, _ = found.rows_of(leaf)
        assert len(set(places.tolist())) == len(places) == 20


def test_of_equal_rows_those_with_the_lower_numbers_are_neighbours() -> None:
    members = committee([4, 30])
    members = replace(members, X=members.X * 0)
    found = leaves_of(members, Neighbourhood(n_rows=10, leaf_size=5))
    assert [found.own(leaf).tolist() for leaf in (0, 3)] == [[4, 5, 6, 7, 8], [19, 20, 21, 22, 23]]
    assert found.rows_of(3)[0].tolist() == [4, 3, 2, 1, 0, 19, 20, 21, 22, 23]
    assert found.rows_of(0)[0].tolist()[5:] == [4, 5, 6, 7, 8]


def test_a_committee_without_some_rows_has_leaves_of_the_others() -> None:
    members = committee()
    kept = np.sort(np.random.default_rng(0).permutation(125)[:100])
    offsets = np.searchsorted(kept, members.offsets)
    found = leaves_of(replace(members, kept=kept, offsets=offsets), Neighbourhood(n_rows=30, leaf_size=9))
    np.testing.assert_array_equal(found.numbers, kept)
    np.testing.assert_allclose(found.points * found.scales, members.X.numpy()[kept], rtol=1e-12)


def test_nearest_rows_are_those_of_a_search() -> None:
    found = leaves_of(committee(), Neighbourhood(n_rows=30, leaf_size=9))
    x = np.random.default_rng(2).normal(size=(7, 2))
    distances, places = found.nearest(x, 17)
    far = np.linalg.norm(found.points[None, 20:] - x[:, None], axis=2)
    np.testing.assert_array_equal(places, 20 + np.argsort(far, axis=1)[:, :17])
    np.testing.assert_allclose(distances, np.sort(far, axis=1)[:, :17], rtol=1e-12)
    assert found.nearest(x, 1_000)[1].shape == (7, 105)
