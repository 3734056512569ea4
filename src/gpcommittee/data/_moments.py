"""Means and standard deviations of columns, exact to rounding.

Each column is shifted by its first row before anything is summed, so an offset costs no digits, and measured in units
of a power of two, so neither sums nor squares overflow. Moments of parts of the rows merge, in their order, into those
of all rows.

References
----------
Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance, The American Statistician 37 (merging).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data._blocks import row_blocks
from gpcommittee.records import FloatArray

# A column whose values all lie within this many roundings of their mean is constant: what varies is rounding alone.
_ROUNDINGS = 4.0


@dataclass(frozen=True)
class PartMoments:
    """What is known of the columns of some rows.

    Attributes
    ----------
    n_rows : int
    unit : ndarray, shape (n_columns,)
        A power of two near the largest size, in which the others are; tiny where all values are 0.
    origin, shift : ndarray, shape (n_columns,)
        The first row, and from there to the mean: kept apart, so that means are compared without loss of digits.
    squares : ndarray, shape (n_columns,)
        Sum of squared deviations from the mean.
    low, high : ndarray, shape (n_columns,)
        Smallest and largest deviation from the mean.
    """

    n_rows: int
    unit: FloatArray
    origin: FloatArray
    shift: FloatArray
    squares: FloatArray
    low: FloatArray
    high: FloatArray


def column_moments(values: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Mean and scale of each column, shape (n_columns,) each; not finite where float64 cannot hold them."""
    return merged_moments([part_moments(values)])


def part_moments(values: NDArray[Any]) -> PartMoments:
    """Moments of the columns of at least one row."""
    n_rows = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = _largest(values)
        unit = np.where(largest > 0.0, np.ldexp(1.0, np.frexp(largest)[1] - 1), np.finfo(np.float64).tiny)
        origin = _in_double(values, slice(0, 1))[0] / unit
        shift = _sum_of_shifted(values, unit, origin) / n_rows
        total, squares, low, high = _deviations(values, unit, origin, shift)
        remainder = total / n_rows
        return PartMoments(
            n_rows,
            unit,
            origin,
            shift + remainder,
            np.maximum(squares - total * remainder, 0.0),
            low - remainder,
            high - remainder,
        )


def merged_moments(parts: Sequence[PartMoments]) -> tuple[FloatArray, FloatArray]:
    """Mean and scale of each column over all rows of at least one part, as `column_moments` gives them."""
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.max([part.unit for part in parts], axis=0)
        ratios = [part.unit / unit for part in parts]
        n_rows = sum(part.n_rows for part in parts)
        origin = parts[0].origin * ratios[0]
        means = [r * part.origin - origin + r * part.shift for part, r in zip(parts, ratios, strict=True)]
        shift = sum(part.n_rows * mean for part, mean in zip(parts, means, strict=True)) / n_rows
        squares, spread, largest = np.zeros((3, len(unit)))
        for part, ratio, mean in zip(parts, ratios, means, strict=True):
            squares += part.squares * ratio**2 + part.n_rows * (mean - shift) ** 2
            for end in (part.low * ratio, part.high * ratio):
                np.maximum(spread, np.abs(end + (mean - shift)), out=spread)
                np.maximum(largest, np.abs(end + mean + origin), out=largest)
        deviation = np.sqrt(squares / max(n_rows - 1, 1))
        constant = spread <= _ROUNDINGS * np.finfo(np.float64).eps * largest
        return unit * (origin + shift), np.where(constant, 1.0, unit * deviation)


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
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sum, sum of squares, smallest and largest of the deviations from ``origin + shift``."""
    total, squares = np.zeros((2, values.shape[1]))
    low, high = np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)
    for rows in row_blocks(values):
        deviation = _in_double(values, rows) / unit - origin - shift
        total += deviation.sum(axis=0)
        squares += (deviation**2).sum(axis=0)
        np.minimum(low, deviation.min(axis=0), out=low)
        np.maximum(high, deviation.max(axis=0), out=high)
    return total, squares, low, high


def _in_double(values: NDArray[Any], rows: slice) -> FloatArray:
    """Rows in one type and memory layout, on which the rounding of sums depends."""
    return np.ascontiguousarray(values[rows], dtype=np.float64)
