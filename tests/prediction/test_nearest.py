"""Nearest rows are found in one order, however the rows are divided among trees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from gpcommittee.prediction.neighbourhood.nearest import nearest_rows
from gpcommittee.records import FloatArray, IntArray

_generator = np.random.default_rng(0)
GRID = _generator.integers(0, 4, (300, 2)).astype(np.float64)
SPREAD = _generator.normal(size=(300, 2))


def found_one_by_one(rows: FloatArray, numbers: IntArray, points: FloatArray, k: int) -> IntArray:
    found = []
    for point in points:
        distances = np.sqrt(((rows - point) ** 2).sum(axis=1))
        found.append(numbers[np.lexsort((numbers, distances))[:k]])
    return np.array(found)


@pytest.mark.parametrize("rows", [GRID, SPREAD], ids=["grid", "spread"])
@pytest.mark.parametrize("k", [1, 17, 299, 300, 400])
def test_equals_go_by_number(rows: FloatArray, k: int) -> None:
    numbers = np.random.default_rng(1).permutation(len(rows))
    points = np.concatenate([rows[:20], rows[:20] + 0.5])
    distances, found = nearest_rows(cKDTree(rows), numbers, points, k)
    np.testing.assert_array_equal(found, found_one_by_one(rows, numbers, points, k))
    assert (np.diff(distances, axis=1) >= 0).all()


def test_parts_of_the_rows_give_the_same() -> None:
    numbers, k = np.arange(len(GRID)), 17
    points = GRID[:50] + 0.5
    whole = nearest_rows(cKDTree(GRID), numbers, points, k)
    halves = [nearest_rows(cKDTree(GRID[part]), numbers[part], points, k) for part in (slice(0, 140), slice(140, 300))]
    distances, found = (np.concatenate([half[i] for half in halves], axis=1) for i in (0, 1))
    order = np.lexsort((found, distances))[:, :k]
    np.testing.assert_array_equal(np.take_along_axis(distances, order, axis=1), whole[0])
    np.testing.assert_array_equal(np.take_along_axis(found, order, axis=1), whole[1])


def test_rows_from_a_distance_on_do_not_count() -> None:
    distances, found = nearest_rows(cKDTree(GRID), np.arange(len(GRID)), GRID[:30], 40, below=0.5)
    copies = (GRID[:30, None] == GRID).all(axis=2)
    for line, own in enumerate(copies):
        n_found = min(40, own.sum())
        np.testing.assert_array_equal(found[line, :n_found], np.flatnonzero(own)[:n_found])
        assert (found[line, n_found:] == -1).all()
        assert np.isinf(distances[line, n_found:]).all()


def test_no_points_have_no_rows() -> None:
    distances, found = nearest_rows(cKDTree(GRID), np.arange(len(GRID)), np.empty((0, 2)), 5)
    assert distances.shape == found.shape == (0, 5)
