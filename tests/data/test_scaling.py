from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gpcommittee.data import (
    _blocks,
    merged_standardisation,
    part_moments,
    restore_mean,
    restore_variance,
    standardisation,
    standardise_inputs,
    standardise_target,
)
from gpcommittee.errors import InvalidInputError
from gpcommittee.records import FloatArray, Standardisation

generator = np.random.default_rng(3)
X = generator.normal(size=(200, 3))
y = generator.normal(size=200)


def exact_moments(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation (ddof = 1) in rational arithmetic."""
    fractions = [Fraction(float(value)) for value in values]
    mean = sum(fractions, Fraction(0)) / len(fractions)
    variance = sum(((value - mean) ** 2 for value in fractions), Fraction(0)) / (len(fractions) - 1)
    return float(mean), float(np.sqrt(float(variance)))


def test_against_numpy() -> None:
    scaling = standardisation(X, y)
    np.testing.assert_allclose(scaling.x_mean, X.mean(axis=0), rtol=0, atol=1e-15)
    np.testing.assert_allclose(scaling.x_scale, X.std(axis=0, ddof=1), rtol=1e-14)
    assert scaling.y_mean == pytest.approx(y.mean(), abs=1e-15)
    assert scaling.y_scale == pytest.approx(y.std(ddof=1), rel=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8, 1e12])
@pytest.mark.parametrize("factor", [1e9, 1.0, 1e-3])
def test_offsets_cost_no_digits(offset: float, factor: float) -> None:
    column = factor * X[:, 0] + offset
    mean, scale = exact_moments(column)
    scaling = standardisation(column[:, None], y)
    assert scaling.x_mean[0] == pytest.approx(mean, rel=1e-15, abs=1e-15 * scale)
    assert scaling.x_scale[0] == pytest.approx(scale, rel=1e-13)


def test_many_rows_at_a_large_offset() -> None:
    column = np.tile([1e8, 1e8 + 1.0], 500_000)
    scaling = standardisation(column[:, None], column)
    assert scaling.x_mean[0] == 1e8 + 0.5
    assert scaling.x_scale[0] == pytest.approx(0.5 * np.sqrt(1_000_000 / 999_999), rel=1e-14)


@pytest.mark.parametrize("factor", [1e12, 1e-12, 1e9, 1e-9, 1e150, 1e-150])
def test_scaled_targets(factor: float) -> None:
    scaling = standardisation(X, factor * y)
    np.testing.assert_allclose(standardise_target(factor * y, scaling), (y - y.mean()) / y.std(ddof=1), atol=1e-13)


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_inputs_of_extreme_size(factor: float) -> None:
    scaling = standardisation(factor * X, y)
    np.testing.assert_allclose(
        standardise_inputs(factor * X, scaling), (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), atol=1e-13
    )


@pytest.mark.parametrize(
    "column",
    [
        np.full(10, 0.1),
        np.full(10, 1e300),
        np.zeros(10),
        np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2]),
        1e8 + 1e-9 * X[:, 0],
        np.array([7.0]),
    ],
    ids=["exact", "huge", "zero", "rounding", "lost in rounding", "one row"],
)
def test_constant_columns_get_scale_one(column: FloatArray) -> None:
    scaling = standardisation(column[:, None], column)
    assert scaling.x_scale[0] == 1.0
    assert scaling.y_scale == 1.0
    assert scaling.x_mean[0] == pytest.approx(column[0], rel=1e-15)
    np.testing.assert_allclose(standardise_inputs(column[:, None], scaling), 0.0, atol=1e-7)


def test_small_spreads_that_are_real_are_kept() -> None:
    column = 1.0 + 1e-12 * np.arange(10.0)
    assert standardisation(column[:, None], column).y_scale == pytest.approx(np.std(column - 1.0, ddof=1), rel=1e-3)


def test_two_rows() -> None:
    scaling = standardisation(np.array([[1.0], [3.0]]), np.array([0.0, 2.0]))
    assert (scaling.x_mean[0], scaling.x_scale[0]) == (2.0, pytest.approx(np.sqrt(2.0), rel=1e-15))


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8),
        elements=st.floats(-1e300, 1e300, allow_subnormal=False),
    )
)
def test_standardised_columns_have_mean_zero_and_deviation_one(values: FloatArray) -> None:
    scaling = standardisation(values, np.zeros(len(values)))
    standardised = standardise_inputs(values, scaling)
    assert np.isfinite(standardised).all()
    varying = np.ptp(values, axis=0) > 1e-6 * np.abs(values).max(axis=0)
    np.testing.assert_allclose(standardised.mean(axis=0)[varying], 0.0, atol=1e-8)
    np.testing.assert_allclose(standardised.std(axis=0, ddof=1)[varying], 1.0, rtol=1e-8)


@given(st.sampled_from([2.0, 0.25, -4.0, 2.0**40]))
def test_powers_of_two_change_nothing(factor: float) -> None:
    scaled = factor * X
    np.testing.assert_array_equal(
        standardise_inputs(scaled, standardisation(scaled, y)),
        np.sign(factor) * standardise_inputs(X, standardisation(X, y)),
    )


def test_round_trip() -> None:
    scaling = standardisation(X, 1e9 + 5.0 * y)
    restored = restore_mean(standardise_target(1e9 + 5.0 * y, scaling), scaling)
    np.testing.assert_allclose(restored, 1e9 + 5.0 * y, rtol=1e-15)
    np.testing.assert_allclose(restore_variance(np.array([2.0]), scaling), 2.0 * scaling.y_scale**2)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.bool_])
def test_other_real_types(dtype: type[np.generic]) -> None:
    values: NDArray[Any] = (10.0 * np.abs(X)).astype(dtype)
    scaling, reference = standardisation(values, y), standardisation(values.astype(np.float64), y)
    np.testing.assert_array_equal(scaling.x_mean, reference.x_mean)
    np.testing.assert_array_equal(scaling.x_scale, reference.x_scale)
    assert standardise_inputs(values, scaling).dtype == np.float64


def test_memory_maps_and_inputs_are_unchanged(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "X.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    np.testing.assert_array_equal(standardisation(mapped, y).x_scale, standardisation(X, y).x_scale)
    copy = X.copy()
    standardise_inputs(X, standardisation(X, y))
    np.testing.assert_array_equal(X, copy)


def test_results_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = standardisation(X, y)
    monkeypatch.setattr(_blocks, "_BLOCK_VALUES", 21)
    np.testing.assert_allclose(standardisation(X, y).x_scale, reference.x_scale, rtol=1e-14)
    np.testing.assert_allclose(standardisation(X, y).x_mean, reference.x_mean, atol=1e-15)


def test_zero_rows_are_standardised_to_zero_rows() -> None:
    assert standardise_inputs(np.empty((0, 3)), standardisation(X, y)).shape == (0, 3)


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match=r"shapes \(200,\) and \(200,\)"):
        standardisation(X[:, 0], y)
    with pytest.raises(InvalidInputError, match="X has 200 rows but y has 199 values"):
        standardisation(X, y[1:])
    with pytest.raises(InvalidInputError, match="X has 0 rows"):
        standardisation(X[:0], y[:0])
    with pytest.raises(InvalidInputError, match="column 0 of X is inf"):
        standardisation(np.array([[-1.7e308], [1.7e308]]), np.zeros(2))
    with pytest.raises(InvalidInputError, match="column 1 of X is nan"):
        standardisation(np.array([[1.0, np.nan], [1.0, 2.0]]), np.zeros(2))
    with pytest.raises(InvalidInputError, match=r"deviation of y is .*e\+170.*Rescale y"):
        standardisation(X, 1e170 * y)
    with pytest.raises(InvalidInputError, match=r"deviation of y is .*e-170.*Rescale y"):
        standardisation(X, 1e-170 * y)
    with pytest.raises(InvalidInputError, match=r"Row 1, column 2 of X is 1e\+308"):
        standardise_inputs(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1e308]]), standardisation(1e-9 * X, y))


def in_parts(values: FloatArray, n_parts: int) -> Standardisation:
    parts = [part_moments(part) for part in np.array_split(values, n_parts) if len(part) > 0]
    target = [part_moments(part[:, None]) for part in np.array_split(values[:, 0], n_parts) if len(part) > 0]
    return merged_standardisation(parts, target)


@pytest.mark.parametrize("n_parts", [1, 2, 7, 300])
@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
@pytest.mark.parametrize("factor", [1.0, 1e150, 1e-150])
def test_moments_of_parts_merge_into_those_of_all_rows(n_parts: int, offset: float, factor: float) -> None:
    values = factor * (np.sort(X, axis=0) + offset)
    scaling, whole = in_parts(values, n_parts), standardisation(values, values[:, 0])
    np.testing.assert_allclose(scaling.x_mean, whole.x_mean, rtol=1e-15, atol=1e-14 * factor)
    np.testing.assert_allclose(scaling.x_scale, whole.x_scale, rtol=1e-14)
    assert scaling.y_scale == pytest.approx(whole.y_scale, rel=1e-14)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8),
        elements=st.floats(-1e300, 1e300, allow_subnormal=False) | st.sampled_from([0.0, 0.1, 1e-300]),
    ),
    st.integers(1, 4),
)
def test_any_parts_give_the_scales_of_all_rows(values: FloatArray, n_parts: int) -> None:
    small = values / 1e160 if np.abs(values).max() > 1e140 else values
    scaled = np.where(np.abs(small) < 1e-120, 0.0, small)
    merged, whole = in_parts(scaled, n_parts), standardisation(scaled, scaled[:, 0])
    largest = np.abs(scaled).max(axis=0)
    np.testing.assert_array_less(np.abs(merged.x_mean - whole.x_mean), 1e-15 * largest + 1e-300)
    varying = np.ptp(scaled, axis=0) > 1e-12 * largest
    np.testing.assert_allclose(merged.x_scale[varying], whole.x_scale[varying], rtol=1e-3)
    same = np.ptp(scaled, axis=0) == 0.0
    np.testing.assert_array_equal(merged.x_scale[same], 1.0)


def test_a_constant_column_is_constant_in_parts_and_two_constants_are_not() -> None:
    assert in_parts(np.full((30, 1), 0.1), 4).x_scale[0] == 1.0
    column = np.repeat([0.1, 0.2], 15)[:, None]
    assert in_parts(column, 2).x_scale[0] == pytest.approx(column.std(ddof=1), rel=1e-14)
    tiny = np.repeat([0.0, 1e-300], 15)[:, None]
    assert merged_standardisation([part_moments(tiny[:15]), part_moments(tiny[15:])], [part_moments(column)]).x_scale[
        0
    ] == pytest.approx(1e-300 * np.repeat([0.0, 1.0], 15).std(ddof=1), rel=1e-14)
