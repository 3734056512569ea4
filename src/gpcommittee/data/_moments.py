"""Means and standard deviations of columns, exact to rounding.

Each column is shifted by its first row before anything is summed, so an offset costs no digits, and measured in units
of a power of two, so neither sums nor squares overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data._blocks import row_blocks
from gpcommittee.records import FloatArray

# A column whose values all lie within this many roundings of their mean is constant: what varies is rounding alone.
_ROUNDINGS = 4.0


def column_moments(values: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean and scale of each column, shape (n_columns,) each; not finite where float64 cannot hold them."""
    n_rows = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = _largest(values)
        unit = np.ldexp(1.0, np.frexp(largest)[1] - 1)
        origin = _in_double(values, slice(0, 1))[0] / unit
        shift = _sum_of_shifted(values, unit, origin) / n_rows
        total, squares, spread = _deviations(values, unit, origin, shift)
        remainder = total / n_rows
        deviation = np.sqrt(np.maximum(squares - total * remainder, 0.0) / max(n_rows - 1, 1))
        constant = spread <= _ROUNDINGS * np.finfo(np.float64).eps * (largest / unit)
        return unit * (origin + (shift + remainder)), np.where(constant, 1.0, unit * deviation)


def _largest(values: NDArray[Any]) -> FloatArray:
    largest = np.zeros(values.shape[1])
    for rows in row_blocks(values):
        np.maximum(largest, np.abs(_in_double(values, rows)).max(axis=0), out=largest)
    return largest


def _sum_of_shifted(values: NDArray[Any], unit: FloatArray, origin: FloatArray) -> FloatArray:
    total = np.zeros(values.shape[1])
    for rows in row_blocks(values):
        total += (_in_double(values, rows) / unit - origin).sum(axis=0)
    return total


def _deviations(
    values: NDArray[Any], unit: FloatArray, origin: FloatArray, shift: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum, sum of squares and largest size of the deviations from ``origin + shift``."""
    total, squares, spread = np.zeros((3, values.shape[1]))
    for rows in row_blocks(values):
        deviation = _in_double(values, rows) / unit - origin - shift
        total += deviation.sum(axis=0)
        squares += (deviation**2).sum(axis=0)
        np.maximum(spread, np.abs(deviation).max(axis=0), out=spread)
    return total, squares, spread


def _in_double(values: NDArray[Any], rows: slice) -> FloatArray:
    """Rows in one type and memory layout, on which the rounding of sums depends."""
    return np.ascontiguousarray(values[rows], dtype=np.float64)
