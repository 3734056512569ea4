"""Scores of a Gaussian predictive distribution. All expect the variance or deviation of an observation, noise included.

References
----------
Rasmussen and Williams, Gaussian Processes for Machine Learning, MIT Press 2006, section 2.5 (MSLL).
Gneiting and Raftery, Strictly Proper Scoring Rules, Prediction, and Estimation, JASA 102 (2007), section 4.2 (CRPS).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from gpcommittee.errors import InvalidInputError
from gpcommittee.metrics._check import as_vectors, check_positive
from gpcommittee.records import FloatArray


def nlpd(y_true: ArrayLike, mean: ArrayLike, var: ArrayLike) -> float:
    """Mean negative log predictive density, in nats.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    var : array_like, shape (n_points,)
        Predicted variances of an observation, in squared target units.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a variance that is not positive.

    Examples
    --------
    >>> round(nlpd([0.0], [0.0], [1.0]), 6)
    0.918939
    """
    observed, predicted, variance = as_vectors(y_true=y_true, mean=mean, var=var)
    check_positive("var", variance)
    return float(np.mean(_log_loss(observed, predicted, variance)))


def msll(y_true: ArrayLike, mean: ArrayLike, var: ArrayLike, *, y_train_mean: float, y_train_var: float) -> float:
    """Mean standardised log loss: the NLPD minus that of a Gaussian with the training targets' mean and variance.

    Zero for the trivial model, negative for a better one.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    var : array_like, shape (n_points,)
        Predicted variances of an observation, in squared target units.
    y_train_mean, y_train_var : float
        Mean and variance of the training targets.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a variance that is not positive,
        that of the training targets included.

    References
    ----------
    Rasmussen and Williams (2006), section 2.5.

    Examples
    --------
    >>> msll([0.0, 1.0], [0.5, 0.5], [2.0, 2.0], y_train_mean=0.5, y_train_var=2.0)
    0.0
    """
    observed, predicted, variance = as_vectors(y_true=y_true, mean=mean, var=var)
    check_positive("var", variance)
    _check_training_statistics(y_train_mean, y_train_var)
    trivial = _log_loss(observed, np.float64(y_train_mean), np.float64(y_train_var))
    return float(np.mean(_log_loss(observed, predicted, variance) - trivial))


def crps(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean continuous ranked probability score of a Gaussian, in the units of the target; lower is better.

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

    References
    ----------
    Gneiting and Raftery (2007), section 4.2: sigma (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)), z = (y - mu) / sigma.

    Examples
    --------
    >>> round(crps([0.0], [0.0], [1.0]), 6)
    0.233695
    """
    observed, predicted, deviation = as_vectors(y_true=y_true, mean=mean, std=std)
    check_positive("std", deviation)
    z = (observed - predicted) / deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    return float(np.mean(deviation * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density - 1.0 / math.sqrt(math.pi))))


def _log_loss(observed: FloatArray, mean: FloatArray | np.float64, var: FloatArray | np.float64) -> FloatArray:
    loss: FloatArray = 0.5 * (np.log(2.0 * np.pi * var) + (observed - mean) ** 2 / var)
    return loss


def _check_training_statistics(mean: float, var: float) -> None:
    if not math.isfinite(mean):
        raise InvalidInputError(f"y_train_mean must be finite, got {mean}.")
    if not (math.isfinite(var) and var > 0.0):
        raise InvalidInputError(
            f"MSLL compares with a Gaussian of the training targets' variance, so y_train_var must be positive and "
            f"finite, got {var}. Use nlpd when the training targets are constant."
        )
