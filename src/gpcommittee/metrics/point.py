"""Errors of a point prediction.

References
----------
Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006, section 2.5 (SMSE).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpcommittee.errors import InvalidInputError
from gpcommittee.metrics._check import as_vectors


def rmse(y_true: ArrayLike, mean: ArrayLike) -> float:
    """Root mean squared error, in the units of the target.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of different lengths, not one-dimensional or not finite.

    Examples
    --------
    >>> rmse([0.0, 0.0], [3.0, -3.0])
    3.0
    """
    observed, predicted = as_vectors(y_true=y_true, mean=mean)
    return float(np.sqrt(np.mean((observed - predicted) ** 2)))


def mae(y_true: ArrayLike, mean: ArrayLike) -> float:
    """Mean absolute error, in the units of the target.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of different lengths, not one-dimensional or not finite.

    Examples
    --------
    >>> mae([0.0, 0.0], [1.0, -3.0])
    2.0
    """
    observed, predicted = as_vectors(y_true=y_true, mean=mean)
    return float(np.mean(np.abs(observed - predicted)))


def smse(y_true: ArrayLike, mean: ArrayLike) -> float:
    """Standardised mean squared error: the mean squared error over the variance of the test targets.

    Predicting the mean of the test targets everywhere scores exactly 1, a perfect prediction 0; it is one minus the
    coefficient of determination.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; test targets that are all equal,
        for their variance is zero.

    References
    ----------
    Rasmussen and Williams (2006), section 2.5.

    Examples
    --------
    >>> smse([1.0, 3.0], [2.0, 2.0])
    1.0
    """
    observed, predicted = as_vectors(y_true=y_true, mean=mean)
    spread = np.ptp(observed)
    if spread == 0.0:
        raise InvalidInputError(
            f"SMSE divides by the variance of y_true, but all {len(observed)} test targets equal {observed[0]}. "
            "Use rmse, or more test points."
        )
    return float(np.mean(((observed - predicted) / spread) ** 2) / np.var((observed - observed[0]) / spread))
