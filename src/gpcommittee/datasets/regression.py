"""The record of a regression data set, and its random split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import FloatArray


@dataclass(frozen=True)
class RegressionData:
    """Training and test rows.

    Attributes
    ----------
    name : str
    X_train, X_test : ndarray of float64, shape (n_train, n_features) and (n_test, n_features)
    y_train, y_test : ndarray of float64, shape (n_train,) and (n_test,)
    feature_names : tuple of str
    note : str
        Which split this is, and how it differs from the paper's if it does.
    """

    name: str
    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    feature_names: tuple[str, ...]
    note: str


def random_split(
    name: str, X: FloatArray, y: FloatArray, feature_names: tuple[str, ...], *, n_train: int, seed: int, note: str
) -> RegressionData:
    """Draw `n_train` rows at random for training; the others, in random order too, are for testing.

    Raises
    ------
    InvalidParameterError
        `n_train` that leaves no training or no test row.
    """
    if not 1 <= n_train < len(X):
        raise InvalidParameterError(
            f"n_train must lie between 1 and {len(X) - 1}, one less than the rows of {name} at hand, got {n_train}."
        )
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train:]
    return RegressionData(name, X[train], y[train], X[test], y[test], feature_names, note)
