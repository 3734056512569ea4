"""Validation of estimator input by scikit-learn's conventions, with this package's errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gpcommittee.data import check_finite
from gpcommittee.errors import GPCommitteeError, InvalidInputError, InvalidTypeError
from gpcommittee.records import FloatArray


def checked_training_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Finite inputs (n, d) and target (n,) in double precision; sets the estimator's feature attributes.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If they are not.
    """
    _check_target(y)
    with _own_errors():
        inputs, target = validate_data(estimator, X, y, y_numeric=True, **_OPTIONS)
    check_finite(inputs, _names(estimator), "X")
    return inputs, check_finite(target, what="y").astype(np.float64, copy=False)


def checked_inputs(estimator: BaseEstimator, X: ArrayLike) -> FloatArray:
    """Finite inputs (n, d) with the columns of the fit; n may be 0.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If they are not.
    """
    with _own_errors():
        inputs: FloatArray = validate_data(estimator, X, reset=False, ensure_min_samples=0, **_OPTIONS)
    check_finite(inputs, _names(estimator), "X")
    return inputs


_OPTIONS: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
"""One memory layout, so that the same numbers in a frame and in an array give the same bits."""


def _check_target(y: ArrayLike) -> None:
    """Say how many target values are missing, or that they are complex, more helpfully than scikit-learn would."""
    values = np.asarray(y)
    if values.dtype.kind in "fc":
        check_finite(values, what="y")


def _names(estimator: BaseEstimator) -> Sequence[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except GPCommitteeError:
        raise
    except TypeError as error:
        raise InvalidTypeError(str(error)) from error
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
