"""Standardised inputs and targets, and the way back. Variances divide by n - 1, as in the paper's experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data._blocks import row_blocks
from gpcommittee.data._moments import PartMoments, merged_moments, part_moments
from gpcommittee.errors import InvalidInputError
from gpcommittee.records import FloatArray, Standardisation


def standardisation(X: NDArray[Any], y: NDArray[Any]) -> Standardisation:
    """Means and scales of finite training data.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Finite real inputs of any real dtype, memory maps included; read block by block, never copied whole.
    y : ndarray, shape (n_rows,)
        Finite real targets.

    Returns
    -------
    Standardisation
        Scales are standard deviations with ddof = 1; 1 for a constant column (also one that varies by rounding errors
        only) and for a single row.

    Raises
    ------
    InvalidInputError
        No rows, shapes that do not fit, or a spread that float64 cannot hold; for the target also one whose square
        float64 cannot hold, since variances are reported in squared target units.

    Examples
    --------
    >>> scaling = standardisation(np.array([[0.0, 7.0], [2.0, 7.0]]), np.array([1.0, 3.0]))
    >>> scaling.x_mean, scaling.y_mean
    (array([1., 7.]), 2.0)
    >>> scaling.x_scale.round(4), round(scaling.y_scale, 4)
    (array([1.4142, 1.    ]), 1.4142)
    """
    _check_shapes(X, y)
    return merged_standardisation([part_moments(X)], [part_moments(y[:, None])])


def merged_standardisation(X: Sequence[PartMoments], y: Sequence[PartMoments]) -> Standardisation:
    """Means and scales of rows that were looked at in parts; equal to rounding to those of all rows together.

    Parameters
    ----------
    X, y : sequence of PartMoments
        Of inputs and target, the target's as one column, one for each part, in the order of the rows.

    Returns
    -------
    Standardisation

    Raises
    ------
    InvalidInputError
        As in `standardisation`.
    """
    x_mean, x_scale = merged_moments(X)
    y_mean, y_scale = merged_moments(y)
    _check_input_scales(x_scale)
    _check_target_scale(float(y_scale[0]))
    return Standardisation(x_mean=x_mean, x_scale=x_scale, y_mean=float(y_mean[0]), y_scale=float(y_scale[0]))


def standardise_inputs(X: NDArray[Any], scaling: Standardisation) -> FloatArray:
    """Inputs with the training mean removed, in units of the training deviation, as a new float64 array in C order.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Finite real inputs of any real dtype and layout, memory maps included; read block by block.
    scaling : Standardisation

    Returns
    -------
    ndarray of float64, shape (n_rows, n_features)

    Raises
    ------
    InvalidInputError
        A row so far from the training data that its distance overflows.
    """
    standardised: FloatArray = np.empty(X.shape)
    with np.errstate(over="ignore"):
        for rows in row_blocks(X):
            np.subtract(X[rows], scaling.x_mean, out=standardised[rows], dtype=np.float64, casting="same_kind")
            standardised[rows] /= scaling.x_scale
    _check_no_overflow(standardised, X)
    return standardised


def standardise_target(y: NDArray[Any], scaling: Standardisation) -> FloatArray:
    """Targets with the training mean removed, in units of the training deviation, as a new float64 array.

    Parameters
    ----------
    y : ndarray, shape (n_rows,)
        Finite real targets.
    scaling : Standardisation

    Returns
    -------
    ndarray of float64, shape (n_rows,)
    """
    standardised: FloatArray = np.subtract(y, scaling.y_mean, dtype=np.float64)
    standardised /= scaling.y_scale
    return standardised


def restore_mean(mean: FloatArray, scaling: Standardisation) -> FloatArray:
    """Means of standardised targets, back in target units.

    Parameters
    ----------
    mean : ndarray, shape (n_points,)
        Means in standardised units.
    scaling : Standardisation

    Returns
    -------
    ndarray, shape (n_points,)
    """
    return mean * scaling.y_scale + scaling.y_mean


def restore_variance(var: FloatArray, scaling: Standardisation) -> FloatArray:
    """Variances of standardised targets, back in squared target units.

    Parameters
    ----------
    var : ndarray, shape (n_points,)
        Variances in standardised units.
    scaling : Standardisation

    Returns
    -------
    ndarray, shape (n_points,)
    """
    return var * scaling.y_scale**2


def _check_shapes(X: NDArray[Any], y: NDArray[Any]) -> None:
    if X.ndim != 2 or y.ndim != 1:
        raise InvalidInputError(f"X must be two-dimensional and y one-dimensional, got shapes {X.shape} and {y.shape}.")
    if len(X) != len(y):
        raise InvalidInputError(f"X has {len(X)} rows but y has {len(y)} values; each row needs one target.")
    if len(X) == 0:
        raise InvalidInputError("X has 0 rows; means and scales need at least one.")


def _check_input_scales(x_scale: FloatArray) -> None:
    wrong = np.flatnonzero(~(np.isfinite(x_scale) & (x_scale > 0.0)))
    if wrong.size:
        raise InvalidInputError(
            f"The standard deviation of column {wrong[0]} of X is {x_scale[wrong[0]]}, outside what float64 can hold. "
            "Rescale this column (counted from 0) to ordinary units; NaN and infinity are not allowed."
        )


def _check_target_scale(y_scale: float) -> None:
    if not np.finfo(np.float64).tiny <= y_scale * y_scale < np.inf:
        raise InvalidInputError(
            f"The standard deviation of y is {y_scale}; float64 holds its square, the unit of predicted variances, "
            "only between about 1e-154 and 1e+154. Rescale y to ordinary units; NaN and infinity are not allowed."
        )


def _check_no_overflow(standardised: FloatArray, X: NDArray[Any]) -> None:
    for rows in row_blocks(standardised):
        row, column = np.nonzero(~np.isfinite(standardised[rows]))
        if row.size:
            raise InvalidInputError(
                f"Row {rows.start + row[0]}, column {column[0]} of X is {X[rows.start + row[0], column[0]]}: not "
                "finite, or too far from the training data for float64. Check its units."
            )
