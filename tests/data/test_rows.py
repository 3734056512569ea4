from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpcommittee.data import Rows, standardisation, standardise_inputs
from gpcommittee.data.rows import places

generator = np.random.default_rng(4)
X = 100 * generator.normal(size=(70_000, 5)) + 1e4
Y = generator.normal(size=70_000)


def layouts(folder: Path) -> dict[str, NDArray[Any]]:
    """The same numbers in other types and layouts."""
    whole = X.astype(np.float32)
    np.save(folder / "X.npy", whole)
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = whole
    return {
        "float32": whole,
        "Fortran order": np.asfortranarray(whole.astype(float)),
        "every other column": wide[:, ::2],
        "memory map": np.load(folder / "X.npy", mmap_mode="r"),
        "long double": whole.astype(np.longdouble),
    }


def test_types_and_layouts_make_no_difference_to_a_bit(tmp_path: Path) -> None:
    plain = X.astype(np.float32).astype(float)
    scaling = standardisation(plain, Y)
    expected = standardise_inputs(plain, scaling)
    for name, given in layouts(tmp_path).items():
        rows = Rows(given, Y, standardisation(given, Y))
        np.testing.assert_array_equal(rows.scaling.x_mean, scaling.x_mean, err_msg=name)
        np.testing.assert_array_equal(rows.scaling.x_scale, scaling.x_scale, err_msg=name)
        found = rows.inputs()
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected, err_msg=name)
        for some in (np.array([5, 3, 69_999]), slice(10, 20)):
            np.testing.assert_array_equal(rows.some(some)[0], expected[some], err_msg=name)


def test_inputs_in_units_of_scales() -> None:
    scaling = standardisation(X, Y)
    scales = np.array([0.1, 1.0, 3.0, 7.0, 11.0])
    rows = Rows(X, Y, scaling)
    expected = (X - scaling.x_mean) / scaling.x_scale
    np.testing.assert_array_equal(rows.inputs(), expected)
    np.testing.assert_array_equal(rows.inputs(scales), expected / scales)
    assert (len(rows), rows.n_features) == X.shape


def test_blocks_are_all_rows_in_their_order() -> None:
    blocks = Rows.standardised(X, Y).blocks()
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([np.arange(len(X))[block] for block in blocks]), np.arange(len(X)))


def test_rows_that_are_standardised_stay_as_they_are() -> None:
    rows = Rows.standardised(X, Y)
    np.testing.assert_array_equal(rows.inputs(), X)
    np.testing.assert_array_equal(rows.some(slice(3))[1], Y[:3])


def test_places_are_the_inverse_permutation() -> None:
    order = generator.permutation(50)
    np.testing.assert_array_equal(places(order)[order], np.arange(50))
    np.testing.assert_array_equal(order[places(order)], np.arange(50))


@pytest.mark.parametrize("kind", ["float32", "Fortran order"])
def test_moments_copy_no_more_than_a_few_blocks(tmp_path: Path, kind: str) -> None:
    given = np.concatenate([layouts(tmp_path)[kind]] * 10)
    if kind == "Fortran order":
        given = np.asfortranarray(given)
    tracemalloc.start()
    scaling = standardisation(given, np.zeros(len(given)) + np.arange(len(given)))
    first = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    Rows(given, given[:, 0], scaling).inputs()
    second = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    double = 8 * given.size
    assert first < 0.7 * double
    assert second < 1.4 * double
