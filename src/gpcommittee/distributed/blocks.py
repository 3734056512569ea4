"""Blocks of rows on a worker: one for each partition of the source, read, checked and looked at there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpcommittee.data import PartMoments, part_moments, standardise_inputs, standardise_target
from gpcommittee.errors import GPCommitteeError, InvalidInputError
from gpcommittee.records import FloatArray, IntArray, Standardisation


@dataclass(frozen=True)
class Block:
    """The rows of one partition, as they are in the source.

    Attributes
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,), or None where there is no target
    n_dropped : int
        Incomplete rows left out.
    places : ndarray of int64, shape (n_rows,), or None
        Where these rows are among all of the partition, if any were left out.
    """

    X: FloatArray
    y: FloatArray | None
    n_dropped: int = 0
    places: IntArray | None = None

    def __sizeof__(self) -> int:
        """Bytes, by which Dask counts a worker's memory."""
        return self.X.nbytes + (0 if self.y is None else self.y.nbytes)


Read = Callable[[Any, int], Block]
"""From a partition and its number to its rows."""


@dataclass(frozen=True)
class Summary:
    """What the client learns of a block.

    Attributes
    ----------
    n_rows, n_dropped : int
    x, y : PartMoments or None
        Of inputs and target; None without rows.
    digest : str
        Of all values.
    """

    n_rows: int
    n_dropped: int
    x: PartMoments | None
    y: PartMoments | None
    digest: str


def read_block(read: Read, part: Any, number: int) -> Block | GPCommitteeError:
    """The rows of a partition; rows that cannot be used are an answer too, and not worth another try."""
    try:
        return read(part, number)
    except GPCommitteeError as error:
        return error


def summarise(block: Block | GPCommitteeError) -> Summary | GPCommitteeError:
    """What there is to know of a block of training rows."""
    if isinstance(block, GPCommitteeError):
        return block
    if block.y is None:
        return InvalidInputError("The rows have no target; name the column to predict.")
    digest = hashlib.blake2b(digest_size=16)
    for values in (block.X, block.y):
        digest.update(np.ascontiguousarray(values).data if values.size else b"")
    any_rows = len(block.y) > 0
    return Summary(
        len(block.y),
        block.n_dropped,
        part_moments(block.X) if any_rows else None,
        part_moments(block.y[:, None]) if any_rows else None,
        digest.hexdigest(),
    )


def standardised(block: Block, rows: IntArray | slice, scaling: Standardisation) -> tuple[FloatArray, FloatArray]:
    """Some rows of a block as the model sees them: inputs (n, d) and target (n,)."""
    if block.y is None:
        raise InvalidInputError("The rows have no target; name the column to predict.")
    return standardise_inputs(block.X[rows], scaling), standardise_target(block.y[rows], scaling)
