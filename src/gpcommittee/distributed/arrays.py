"""Dask arrays as partitions: chunks of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpcommittee.data import check_finite, check_numeric, check_unmasked
from gpcommittee.distributed.blocks import Block
from gpcommittee.errors import InvalidInputError, InvalidTypeError


def read_chunks(part: Any, number: int) -> Block:
    """The rows of a chunk of inputs, or of inputs and target; messages name the partition."""
    chunks = part if isinstance(part, list) else [part]
    X = _numbers(chunks[0], f"X, partition {number},")
    if len(chunks) == 1:
        return Block(X, None)
    y = _numbers(chunks[1], f"y, partition {number},").reshape(-1)
    if len(X) != len(y):
        raise InvalidInputError(f"Partition {number} has {len(X)} rows of X but {len(y)} values of y.")
    return Block(X, y)


def array_parts(X: Any, y: Any) -> tuple[tuple[Any, ...], tuple[str, ...], Any, int]:
    """Row chunks of Dask arrays, their identities, and how to read them.

    Raises
    ------
    InvalidInputError
        Shapes or types that do not fit.
    InvalidTypeError
        A target of another kind.
    """
    if X.ndim != 2 or math.isnan(X.shape[1]):
        raise InvalidInputError(
            f"X must be a two-dimensional Dask array with a known number of columns, got shape {X.shape}."
        )
    if X.shape[1] == 0:
        raise InvalidInputError("X has no columns; at least one input is needed.")
    check_numeric(np.empty(0, X.dtype), "X") if X.dtype != object else None
    inputs = X.rechunk({1: -1}) if X.numblocks[1] != 1 else X
    rows = list(inputs.to_delayed().reshape(-1))
    if y is None:
        return tuple(rows), tuple(str(part.key) for part in rows), read_chunks, int(X.shape[1])
    target = list(_target(inputs, y).to_delayed().reshape(-1))
    parts = [[*pair] for pair in zip(rows, target, strict=True)]
    return tuple(parts), tuple(f"{x.key}, {t.key}" for x, t in parts), read_chunks, int(X.shape[1])


def _target(X: Any, y: Any) -> Any:
    """The target in the chunks of the inputs."""
    if not (hasattr(y, "to_delayed") and hasattr(y, "chunks")):
        raise InvalidTypeError(f"With a Dask array X the target is a Dask array too, got {type(y).__name__}.")
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        raise InvalidInputError(f"y must have shape (n_rows,) or (n_rows, 1), got {y.shape}.")
    if y.dtype != object:
        check_numeric(np.empty(0, y.dtype), "y")
    if math.isnan(X.shape[0]) or math.isnan(y.shape[0]):
        if X.numblocks[0] != y.numblocks[0]:
            raise InvalidInputError(
                f"X has {X.numblocks[0]} chunks of unknown size and y has {y.numblocks[0]}; give both the same chunks, "
                "or compute their sizes by compute_chunk_sizes()."
            )
        return y
    if X.shape[0] != y.shape[0]:
        raise InvalidInputError(f"X has {X.shape[0]} rows but y has {y.shape[0]} values; each row needs one target.")
    return y if X.chunks[0] == y.chunks[0] else y.rechunk({0: X.chunks[0]})


def _numbers(values: Any, what: str) -> Any:
    check_unmasked(values, what)
    return np.ascontiguousarray(check_finite(np.asarray(values), None, what), dtype=np.float64)
