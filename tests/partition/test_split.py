"""One cut: the right direction, the right rank, ties by row number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.partition import split
from gpcommittee.records import FloatArray, IntArray


def cloud(n_rows: int, *scales: float) -> FloatArray:
    return np.random.default_rng(0).normal(size=(n_rows, len(scales))) * scales


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.data())
def test_ties_go_by_row_number(values: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, len(values) - 1))
    low = split.lowest(np.array(values, dtype=float)[:, None], np.arange(len(values)), rank)
    expected = sorted(range(len(values)), key=lambda row: (values[row], row))[:rank]
    assert np.flatnonzero(low).tolist() == sorted(expected)


def test_cut_is_across_the_longest_extent() -> None:
    angle = 0.7
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    X = cloud(500, 5.0, 0.5)
    low = split.lowest(X @ rotation, np.arange(500), 200)
    # The sample's own principal axis is a little off the first coordinate, so compare away from the cut.
    cut = np.sort(X[:, 0])[200]
    np.testing.assert_array_equal(low[X[:, 0] < cut - 0.5], True)
    np.testing.assert_array_equal(low[X[:, 0] > cut + 0.5], False)


def test_only_the_named_rows_count() -> None:
    X = cloud(60, 1.0, 3.0)
    rows = np.arange(0, 60, 3)
    X_other = X.copy()
    X_other[1::3] = 1e6
    np.testing.assert_array_equal(split.lowest(X, rows, 7), split.lowest(X_other, rows, 7))


@pytest.mark.parametrize("n_features", [1, 3, 90])
def test_scatter_matches_numpy_across_blocks(n_features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = cloud(500, *np.linspace(1, 3, n_features)) + 1e4
    rows: IntArray = np.arange(0, 500, 2)
    expected = np.cov(X[rows], rowvar=False).reshape(n_features, n_features) * (len(rows) - 1)
    monkeypatch.setattr(split, "BLOCK_VALUES", 64)
    np.testing.assert_allclose(split._scatter(X, rows), expected, rtol=1e-9, atol=1e-6)


def test_scatter_survives_a_far_first_row() -> None:
    X = np.vstack([[1e7, 3e6], cloud(1_000, 1.0, 2.0)])
    expected = np.cov(X, rowvar=False) * (len(X) - 1)
    np.testing.assert_allclose(split._scatter(X, np.arange(len(X))), expected, rtol=1e-10)


def test_blocks_do_not_change_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    X = cloud(400, 1.0, 1.5, 2.0)
    whole = split.lowest(X, np.arange(400), 133)
    monkeypatch.setattr(split, "BLOCK_VALUES", 30)
    np.testing.assert_array_equal(split.lowest(X, np.arange(400), 133), whole)


def test_constant_offset_cancels_exactly() -> None:
    lattice = np.random.default_rng(0).integers(-8, 8, size=(200, 3)).astype(float)
    rows = np.arange(200)
    np.testing.assert_array_equal(split.lowest(lattice, rows, 71), split.lowest(lattice + 2.0**40, rows, 71))


def test_equal_variances_take_the_first_axis() -> None:
    square = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(split.lowest(square, np.arange(16), 8), square[:, 0] < 2)


def test_direction_has_a_positive_largest_component() -> None:
    scatter = np.array([[1.0, -2.0], [-2.0, 9.0]])
    direction = split._principal_direction(scatter)
    assert direction[1] > 0 > direction[0]
    np.testing.assert_allclose(scatter @ direction, np.linalg.eigvalsh(scatter)[-1] * direction, atol=1e-5)
    np.testing.assert_array_equal(split._principal_direction(np.zeros((3, 3))), [1.0, 0.0, 0.0])
