from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.datasets import Geoid, load_geoid, load_geoid_grid, unit_sphere
from gpcommittee.datasets.geoid import load_geoid_split
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import IntArray


def cell_of(geoid: Geoid) -> IntArray:
    return ((90.0 - geoid.latitude) * 4 * 1440 + geoid.longitude * 4).astype(np.int64)


@pytest.fixture(scope="module")
def everything() -> Geoid:
    return load_geoid()


def test_all_cells_in_grid_order(everything: Geoid) -> None:
    assert everything.X.shape == (1_038_240, 3)
    assert (everything.latitude[0], everything.longitude[0]) == (90.0, 0.0)
    assert (everything.latitude[1441], everything.longitude[1441]) == (89.75, 0.25)
    assert (everything.latitude[-1], everything.longitude[-1]) == (-90.0, 359.75)


@pytest.mark.parametrize(
    ("latitude", "longitude", "height"),
    [(0.0, 0.0, 17.16), (90.0, 123.25, 13.61), (-90.0, 0.0, -29.53), (4.75, 78.75, -106.99), (-8.25, 147.25, 85.39)],
    ids=["Gulf of Guinea", "north pole", "south pole", "Indian Ocean low", "New Guinea high"],
)
def test_known_heights(everything: Geoid, latitude: float, longitude: float, height: float) -> None:
    cell = np.flatnonzero((everything.latitude == latitude) & (everything.longitude == longitude))
    assert everything.height[cell] == [pytest.approx(height, abs=1e-9)]


def test_extremes_and_mean(everything: Geoid) -> None:
    assert (everything.height.min(), everything.height.max()) == (-106.99, 85.39)
    weights = np.cos(np.radians(everything.latitude))
    assert np.average(everything.height, weights=weights) == pytest.approx(-0.58, abs=0.05)


def test_points_lie_on_the_sphere(everything: Geoid) -> None:
    np.testing.assert_allclose(np.linalg.norm(everything.X, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(np.degrees(np.arcsin(everything.X[:, 2])), everything.latitude, atol=1e-6)


def test_pole_rows_are_one_point(everything: Geoid) -> None:
    np.testing.assert_array_equal(everything.X[:1440], np.tile([0.0, 0.0, 1.0], (1440, 1)))
    np.testing.assert_array_equal(everything.X[-1440:], np.tile([0.0, 0.0, -1.0], (1440, 1)))
    assert len(set(everything.height[:1440])) == len(set(everything.height[-1440:])) == 1


@given(st.floats(-90.0, 90.0), st.floats(0.0, 360.0))
def test_unit_sphere_by_spherical_trigonometry(latitude: float, longitude: float) -> None:
    phi, lam = np.radians(latitude), np.radians(longitude)
    expected = [np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)]
    np.testing.assert_allclose(unit_sphere(np.array([latitude]), np.array([longitude]))[0], expected, atol=1e-15)


def test_draws_are_distinct_cells_and_repeatable(everything: Geoid) -> None:
    first, again, other = load_geoid(5000, seed=1), load_geoid(5000, seed=1), load_geoid(5000, seed=2)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    cells = cell_of(first)
    assert len(set(cells)) == 5000
    np.testing.assert_array_equal(first.height, everything.height[cells])
    np.testing.assert_array_equal(first.X, everything.X[cells])
    assert abs(np.median(first.latitude)) < 3.0


def test_every_row_can_be_drawn(everything: Geoid) -> None:
    assert load_geoid(len(everything.height)).height.sum() == pytest.approx(everything.height.sum())


@pytest.mark.parametrize(("n_train", "n_test"), [(938_240, 100_000), (5000, 1000)])
def test_split_is_of_distinct_cells_and_tests_no_pole(n_train: int, n_test: int, everything: Geoid) -> None:
    train, test = load_geoid_split(n_train, n_test, seed=3)
    cells = np.concatenate([cell_of(train), cell_of(test)])
    assert len(np.unique(cells)) == n_train + n_test
    assert np.abs(test.latitude).max() < 90.0
    assert (len(train.X), len(test.X)) == (n_train, n_test)
    np.testing.assert_array_equal(test.height, everything.height[cell_of(test)])
    np.testing.assert_array_equal(train.X, everything.X[cell_of(train)])
    np.testing.assert_array_equal(test.X, load_geoid_split(1, n_test, seed=3)[1].X)


@pytest.mark.parametrize("step", [1, 7, 40, 720])
def test_grid(everything: Geoid, step: int) -> None:
    grid = load_geoid_grid(step)
    expected = everything.height.reshape(721, 1440)[::step, ::step]
    np.testing.assert_array_equal(grid.height, expected)
    assert grid.height.shape == (len(grid.latitude), len(grid.longitude))
    assert grid.latitude[0] == 90.0
    np.testing.assert_array_equal(grid.X, everything.X.reshape(721, 1440, 3)[::step, ::step].reshape(-1, 3))


def test_refusals() -> None:
    for sizes in ((0, 1), (1, 0), (1, 1_035_361), (938_241, 100_000)):
        with pytest.raises(InvalidParameterError, match=f"got {sizes[0]} and {sizes[1]}"):
            load_geoid_split(*sizes)
    for n in (0, -1, 1_038_241):
        with pytest.raises(InvalidParameterError, match=f"n must lie between 1 and 1038240, got {n}"):
            load_geoid(n)
    for step in (0, 721):
        with pytest.raises(InvalidParameterError, match=f"step must lie between 1 and 720 quarter degrees, got {step}"):
            load_geoid_grid(step)
