"""Is the stated uncertainty right? All expect the standard deviation of an observation, noise included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gpcommittee.metrics._check import as_vectors, check_level, check_positive
from gpcommittee.records import FloatArray

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Interval probabilities of a coverage curve: the middle, where most targets are, and the tails, which fail first."""


def coverage(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike, level: float = 0.95) -> float:
    """Fraction of targets inside the central Gaussian interval, its ends included; calibrated when it equals `level`.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    std : array_like, shape (n_points,)
        Predicted standard deviations of an observation.
    level : float, default=0.95
        Probability of the interval, strictly between 0 and 1.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a deviation that is not positive.
    InvalidParameterError
        A level outside (0, 1).

    Examples
    --------
    >>> coverage([0.0, 1.9, 3.0, -1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    0.75
    """
    observed, predicted, deviation = as_vectors(y_true=y_true, mean=mean, std=std)
    check_positive("std", deviation)
    return float(np.mean(np.abs(observed - predicted) <= half_width_in_deviations(level) * deviation))


def coverage_curve(
    y_true: ArrayLike, mean: ArrayLike, std: ArrayLike, levels: Sequence[float] | FloatArray = LEVELS
) -> FloatArray:
    """Fraction of targets inside the central Gaussian interval of each level; calibrated when it equals `levels`.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    std : array_like, shape (n_points,)
        Predicted standard deviations of an observation.
    levels : sequence of float, shape (n_levels,)
        Probabilities of the intervals, each strictly between 0 and 1. Default: 10, 25, 50, 75, 90, 95 and 99%.

    Returns
    -------
    ndarray, shape (n_levels,)
        ``coverage`` at each level.

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a deviation that is not positive.
    InvalidParameterError
        A level outside (0, 1).

    Examples
    --------
    >>> coverage_curve([0.0, 1.9, 3.0, -1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.5, 0.95, 0.999])
    array([0.25, 0.75, 1.  ])
    """
    observed, predicted, deviation = as_vectors(y_true=y_true, mean=mean, std=std)
    return np.array([coverage(observed, predicted, deviation, level) for level in levels])


def interval_width(std: ArrayLike, level: float = 0.95) -> float:
    """Mean width of the central Gaussian interval, in the units of the target.

    Parameters
    ----------
    std : array_like, shape (n_points,)
        Predicted standard deviations of an observation.
    level : float, default=0.95
        Probability of the interval, strictly between 0 and 1.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        An array that is empty, not one-dimensional or not finite; a deviation that is not positive.
    InvalidParameterError
        A level outside (0, 1).

    Examples
    --------
    >>> round(interval_width([1.0, 1.0]), 6)
    3.919928
    """
    (deviation,) = as_vectors(std=std)
    check_positive("std", deviation)
    return float(2.0 * half_width_in_deviations(level) * np.mean(deviation))


def mean_squared_z(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean squared standardised residual: 1 when calibrated, above 1 when overconfident, below 1 when too cautious.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    std : array_like, shape (n_points,)
        Predicted standard deviations of an observation.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a deviation that is not positive.

    Examples
    --------
    >>> mean_squared_z([2.0, -2.0], [0.0, 0.0], [1.0, 2.0])
    2.5
    """
    observed, predicted, deviation = as_vectors(y_true=y_true, mean=mean, std=std)
    check_positive("std", deviation)
    return float(np.mean(((observed - predicted) / deviation) ** 2))


def half_width_in_deviations(level: float) -> float:
    """Half-width of the central interval of a standard Gaussian: 1.96 for 0.95.

    Parameters
    ----------
    level : float
        Probability of the interval, strictly between 0 and 1.

    Returns
    -------
    float

    Raises
    ------
    InvalidParameterError
        A level outside (0, 1).

    Examples
    --------
    >>> round(half_width_in_deviations(0.95), 4)
    1.96
    """
    check_level(level)
    return float(ndtri(0.5 + 0.5 * level))
