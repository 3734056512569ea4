"""The communication set, drawn at random before anything else.

Every partitioner draws it here, so one seed gives one communication set whatever becomes of the remaining rows.

References
----------
Liu, Cai, Wang and Ong (2018), Generalized Robust Bayesian Committee Machine, section 3.1 ("random selection").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.choices import check_count
from gpcommittee.errors import InvalidInputError
from gpcommittee.partition.sizes import PartitionSizes, check_fit
from gpcommittee.records import FloatArray, IntArray

LARGEST_INPUT = 1e100
"""Squared distances of inputs below this stay finite."""


@dataclass(frozen=True)
class Draw:
    """The communication set, and what the partitioners divide.

    Attributes
    ----------
    communication : ndarray of int64, shape (communication_size,)
        Rows of the communication set, ascending.
    rest : ndarray of int64, shape (n_rows - communication_size,)
        All other rows, ascending.
    stream : numpy.random.SeedSequence
        Randomness for dividing the rest, independent of the draw.
    """

    communication: IntArray
    rest: IntArray
    stream: np.random.SeedSequence


def draw_communication(X: FloatArray, sizes: PartitionSizes, seed: int) -> Draw:
    """Check the inputs and draw the communication set without replacement.

    Raises
    ------
    InvalidInputError
        If `X` is not a two-dimensional array of finite numbers below 1e100.
    InvalidParameterError
        If `sizes` does not fit the rows of `X`, or `seed` is not a non-negative integer.
    """
    check_inputs(X)
    communication, stream = draw_rows(len(X), sizes, seed)
    others = np.ones(len(X), dtype=bool)
    others[communication] = False
    return Draw(communication, np.flatnonzero(others), stream)


def draw_rows(n_rows: int, sizes: PartitionSizes, seed: int) -> tuple[IntArray, np.random.SeedSequence]:
    """Draw the communication set from so many rows, wherever they are; memory does not grow with their number.

    Returns
    -------
    communication : ndarray of int64, shape (communication_size,)
        Its rows, ascending.
    stream : numpy.random.SeedSequence
        Randomness for dividing the others.

    Raises
    ------
    InvalidParameterError
        If `sizes` does not fit the rows, or `seed` is not a non-negative integer.
    """
    check_fit(sizes, n_rows)
    draw_stream, rest_stream = np.random.SeedSequence(check_count("seed", seed, 0)).spawn(2)
    drawn = np.random.default_rng(draw_stream).choice(n_rows, sizes.communication_size, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int64), rest_stream


def check_inputs(X: FloatArray) -> None:
    """Raise InvalidInputError unless `X` is a non-empty matrix of finite numbers below 1e100."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.size == 0 or X.dtype.kind != "f":
        raise InvalidInputError(
            "A partition needs a floating-point array of shape (n_rows, n_features), both at least 1, got "
            f"{_describe(X)}. Convert with numpy.asarray(X, dtype=float).reshape(len(X), -1)."
        )
    smallest, largest = X.min(), X.max()
    if not np.maximum(-smallest, largest) < LARGEST_INPUT:
        raise InvalidInputError(
            f"A partition needs finite inputs below {LARGEST_INPUT:g} in size, got values from {smallest} to "
            f"{largest}. Remove missing and infinite values, and standardise the columns."
        )


def _describe(X: object) -> str:
    if isinstance(X, np.ndarray):
        return f"shape {X.shape} of type {X.dtype}"
    return type(X).__name__
