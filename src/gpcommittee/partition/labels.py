"""A partition from one label per row, and back: the way in for a user's own partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import IntArray, Partition


def partition_from_labels(labels: ArrayLike, n_rows: int) -> Partition:
    """Partition the rows as the user's labels say; label 0 is the communication set.

    Parameters
    ----------
    labels : array-like of int, shape (n_rows,)
        Expert of each row. Every number from 0 to the largest label must occur.
    n_rows : int
        Training rows.

    Returns
    -------
    Partition

    Raises
    ------
    InvalidParameterError
        If the labels are not integers, not one per row, negative, or skip a number.

    Examples
    --------
    >>> partition_from_labels([1, 0, 2, 1], n_rows=4).rows(1)
    array([0, 3])
    """
    array = _one_integer_per_row(labels, n_rows)
    _check_covered(array)
    return group_rows(array.astype(np.int64))


def group_rows(labels: IntArray) -> Partition:
    """Partition from labels that are known to be sound; rows ascend within each expert. Cost: one stable sort."""
    return Partition(
        order=np.argsort(labels, kind="stable"),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int64),
    )


def _one_integer_per_row(labels: ArrayLike, n_rows: int) -> NDArray[np.integer]:
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise InvalidParameterError(
            f"Partition labels must be a one-dimensional array of {n_rows} integers; NumPy says: {error}"
        ) from error
    if array.shape != (n_rows,):
        raise InvalidParameterError(
            f"Partition labels must be one-dimensional with one label for each of the {n_rows} rows, got shape "
            f"{array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise InvalidParameterError(
            f"Partition labels must be integers, got type {array.dtype}. Convert them with "
            "numpy.asarray(labels).astype(int) if they are whole numbers."
        )
    return array


def _check_covered(labels: NDArray[np.integer]) -> None:
    negative = np.flatnonzero(labels < 0)
    if len(negative) > 0:
        raise InvalidParameterError(
            f"Partition labels must be at least 0 (0 is the communication set), got {labels[negative[0]]} in row "
            f"{negative[0]}; {len(negative)} labels are negative."
        )
    present = np.unique(labels)
    n_labels = int(present[-1]) + 1
    if len(present) < n_labels:
        gaps = np.flatnonzero(present != np.arange(len(present)))
        raise InvalidParameterError(
            f"Partition labels must use every number from 0 (the communication set) to the largest, {n_labels - 1}, "
            f"but no row has label {gaps[0]}; {n_labels - len(present)} labels are unused. Renumber them without gaps."
        )
