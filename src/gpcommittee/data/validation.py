"""Checks of arrays before any work starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data._blocks import row_blocks
from gpcommittee.data._wording import listing
from gpcommittee.errors import InvalidInputError, InvalidTypeError
from gpcommittee.records import IntArray


def check_numeric(values: NDArray[Any], what: str = "X") -> NDArray[Any]:
    """Refuse arrays that do not hold real numbers; booleans and integers count as numbers.

    Parameters
    ----------
    values : ndarray
        Any array; an object array is converted to float64 when every element is a real number.
    what : str, default="X"
        The name of the array in messages.

    Returns
    -------
    ndarray
        The same array, or its float64 conversion for an object array.

    Raises
    ------
    InvalidInputError
        Complex numbers, text and dates.
    InvalidTypeError
        Elements of an object array that are not numbers at all.

    Examples
    --------
    >>> check_numeric(np.array([1, None], dtype=object))
    array([ 1., nan])
    """
    kind = values.dtype.kind
    if kind in "biuf":
        return values
    if kind == "c":
        raise InvalidInputError(_complex_message(what))
    if kind in "USTV":
        raise InvalidInputError(_text_message(what, str(values.dtype)))
    if kind in "Mm":
        raise InvalidInputError(
            f"Input {what} holds dates or times (dtype {values.dtype}), which have no scale of their own. Convert them "
            "to numbers, for example year, month, day, hour and minute (expand_dates does so for tables)."
        )
    return _from_objects(values, what)


def check_finite(values: NDArray[Any], names: Sequence[str] | None = None, what: str = "X") -> NDArray[Any]:
    """Refuse missing and infinite values, and whatever `check_numeric` refuses.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_features) or (n_rows,)
        Inputs or targets.
    names : sequence of str, optional
        Column names for the message; columns are numbered from 0 without them.
    what : str, default="X"
        The name of the array in messages.

    Returns
    -------
    ndarray
        The same array, or its float64 conversion for an object array.

    Raises
    ------
    InvalidInputError
        NaN or infinity, with the columns, counts and first row; complex numbers, text, dates; more than two dimensions.

    Examples
    --------
    >>> check_finite(np.array([[1.0, np.nan], [2.0, np.nan]]), names=["age", "height"])
    Traceback (most recent call last):
    ...
    gpcommittee.errors.InvalidInputError: Input X contains NaN: column 'height' has 2 NaN (first at row 0). Every value
    must be finite: impute or remove these rows first.
    """
    values = check_numeric(values, what)
    if values.ndim not in (1, 2):
        raise InvalidInputError(f"Input {what} must have one or two dimensions, got shape {values.shape}.")
    if all(np.isfinite(values[rows]).all() for rows in row_blocks(values)):
        return values
    raise InvalidInputError(_not_finite_message(values, names, what))


def check_unmasked(values: object, what: str) -> None:
    """Refuse masked arrays that hide a value.

    Parameters
    ----------
    values : object
        Anything; only a masked array is looked at.
    what : str
        The name of the array in messages.

    Raises
    ------
    InvalidInputError
        If a value is masked.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InvalidInputError(
            f"Input {what} is a masked array with {np.ma.getmaskarray(values).sum()} values masked; missing values "
            "are not supported. Remove or fill these rows."
        )


def _from_objects(values: NDArray[Any], what: str) -> NDArray[Any]:
    for element in values.flat:
        if isinstance(element, (str, bytes)):
            raise InvalidInputError(_text_message(what, f"object, for example {element!r}"))
        if isinstance(element, (complex, np.complexfloating)):
            raise InvalidInputError(_complex_message(what))
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"Input {what} has dtype {values.dtype} and an element that is not a real number ({error}). Convert it to "
            "a numeric dtype first."
        ) from error


def _complex_message(what: str) -> str:
    return f"Complex data not supported: input {what} has complex numbers. Pass their parts as two real columns."


def _text_message(what: str, found: str) -> str:
    return f"Input {what} holds text (dtype {found}); only numbers can be used. Encode it as numbers or leave it out."


def _not_finite_message(values: NDArray[Any], names: Sequence[str] | None, what: str) -> str:
    columns = values[:, None] if values.ndim == 1 else values
    n_nan, n_infinite, first = _counts(columns)
    kinds = [word for word, count in (("NaN", n_nan.sum()), ("infinity", n_infinite.sum())) if count]
    places = [
        f"{_place(values.ndim, int(column), names)} has {_amount(n_nan[column], n_infinite[column])} "
        f"(first at row {first[column]})"
        for column in np.flatnonzero(n_nan + n_infinite)
    ]
    return (
        f"Input {what} contains {' and '.join(kinds)}: {listing(places)}. Every value must be finite: impute or remove "
        "these rows first."
    )


def _counts(columns: NDArray[Any]) -> tuple[IntArray, IntArray, IntArray]:
    """NaN and infinite values per column, and the first row of either (-1 where there is none)."""
    n_nan, n_infinite = np.zeros((2, columns.shape[1]), dtype=np.int64)
    first = np.full(columns.shape[1], -1, dtype=np.int64)
    for rows in row_blocks(columns):
        nan, infinite = np.isnan(columns[rows]), np.isinf(columns[rows])
        n_nan += nan.sum(axis=0)
        n_infinite += infinite.sum(axis=0)
        bad = nan | infinite
        fresh = (first < 0) & bad.any(axis=0)
        first[fresh] = rows.start + bad.argmax(axis=0)[fresh]
    return n_nan, n_infinite, first


def _place(ndim: int, column: int, names: Sequence[str] | None) -> str:
    if ndim == 1:
        return "it"
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _amount(n_nan: int, n_infinite: int) -> str:
    parts = [f"{count} {word}" for count, word in ((n_nan, "NaN"), (n_infinite, "infinite")) if count]
    return " and ".join(parts)
