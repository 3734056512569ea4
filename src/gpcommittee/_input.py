"""Validation of estimator input by scikit-learn's conventions, with this package's errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gpcommittee.data import check_finite, check_unmasked
from gpcommittee.data.kinds import Kind, kind_of
from gpcommittee.errors import GPCommitteeError, InvalidInputError, InvalidTypeError
from gpcommittee.records import FloatArray


def checked_training_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], FloatArray]:
    """Finite inputs (n, d) as they are, and target (n,) in double precision; sets the estimator's feature attributes.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If they are not.
    """
    return _checked_rows(estimator, X, y, reset=True)


def checked_observations(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], FloatArray]:
    """Finite inputs (n, d) with the columns of the fit, and target (n,), of rows that the fit has not seen.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If they are not.
    """
    return _checked_rows(estimator, X, y, reset=False)


def _checked_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, reset: bool
) -> tuple[NDArray[Any], FloatArray]:
    with _own_errors():
        _refuse_path(X, "fitted on a cluster, by engine=client, or by the command line, gpcommittee fit")
        if isinstance(y, str):
            raise InvalidTypeError(
                f"The target is one number for each row, got the name {y!r}. Pass the column; names go with rows on a "
                "cluster."
            )
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        _refuse_dates_and_text(X)
        _check_target(y)
        inputs, target = validate_data(estimator, X, y, reset=reset, **_OPTIONS)
        return check_finite(inputs, _names(estimator)), np.ascontiguousarray(
            check_finite(target, what="y"), dtype=np.float64
        )


def checked_inputs(estimator: BaseEstimator, X: ArrayLike) -> NDArray[Any]:
    """Finite inputs (n, d) with the columns of the fit, of any real type and layout; n may be 0.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If they are not.
    """
    with _own_errors():
        _refuse_path(
            X, "predicted by predict_partitions, which needs Dask, or by the command line, gpcommittee predict"
        )
        check_unmasked(X, "X")
        _refuse_dates_and_text(X)
        inputs = validate_data(estimator, X, reset=False, ensure_min_samples=0, **_OPTIONS)
        return check_finite(inputs, _names(estimator))


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was, fitted or not."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


_OPTIONS: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}
"""Types as they are: what is no number is refused here, where scikit-learn would convert dates and text."""


def _refuse_path(X: object, what_takes_it: str) -> None:
    if isinstance(X, str | os.PathLike):
        raise InvalidTypeError(
            f"Rows are an array or a frame, got the path {str(X)!r}. Rows in files are {what_takes_it}."
        )


def _refuse_dates_and_text(X: object) -> None:
    """Name the columns of a frame that hold no numbers; scikit-learn converts some and refuses others namelessly."""
    if not hasattr(X, "__arrow_c_stream__"):
        return
    without_rows: Any = X.slice(0, 0) if isinstance(X, pa.Table) else X.head(0)  # type: ignore[attr-defined]
    found = [f"{field.name!r} ({field.type})" for field in pa.table(without_rows).schema if _no_number(field.type)]
    if found:
        raise InvalidInputError(
            f"Input X has columns that hold dates or text: {', '.join(found)}. Only numbers can be used: expand dates "
            "into year, month and so on, encode text as numbers, or leave these columns out."
        )


def _no_number(data_type: pa.DataType) -> bool:
    return kind_of(data_type) in (Kind.DATE, Kind.TIMESTAMP, Kind.TEXT)


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
    except (OverflowError, RuntimeError, ValueError) as error:
        raise InvalidInputError(str(error)) from error
