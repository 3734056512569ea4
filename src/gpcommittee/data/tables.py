"""Rows of a table as float64 arrays: all at once, or in batches that never hold the whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpcommittee.data._tally import Tally
from gpcommittee.data.columns import check_columns
from gpcommittee.data.convert import as_float64, numbers_of
from gpcommittee.data.plan import ColumnPlan
from gpcommittee.data.sources import TableSource
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.records import FloatArray, IntArray

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class TableRows:
    """Rows of a table as numbers.

    Attributes
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
        Of a whole table column by column, so that it is a frame's columns without a copy.
    y : ndarray of float64, shape (n_rows,), or None when the target was not read
    rows : ndarray of int64, shape (n_rows,)
        Row numbers in the table, counted from 0; rising, with gaps where incomplete rows were dropped.
    n_dropped : int
        Incomplete rows left out.
    """

    X: FloatArray
    y: FloatArray | None
    rows: IntArray
    n_dropped: int


def read_table(
    source: TableSource, plan: ColumnPlan, *, with_target: bool = True, drop_missing: bool = False
) -> TableRows:
    """Read the features (and target) of a whole table into arrays that are allocated once.

    Parameters
    ----------
    source : TableSource
        From `open_table`.
    plan : ColumnPlan
        From `plan_columns`, or from the model.
    with_target : bool, default=True
        Read the plan's target too.
    drop_missing : bool, default=False
        Leave rows with missing values out instead of refusing them; infinite values are refused always.

    Returns
    -------
    TableRows

    Raises
    ------
    InvalidInputError
        Missing values, with counts by column; infinite values; columns that are missing, repeated or of an unusable
        type; a damaged file.
    """
    n_rows = source.count_rows()
    X = np.empty((n_rows, len(plan.feature_names)), order="F")
    y = np.empty(n_rows if with_target else 0)
    rows = np.empty(n_rows, dtype=np.int64)
    tally, kept = Tally(), 0
    for part in _parts(source, plan, with_target, BATCH_ROWS, tally):
        _check_unchanged(source, tally.n_rows <= n_rows)
        complete = _complete(part) if drop_missing else part
        place = slice(kept, kept + len(complete.X))
        X[place], rows[place] = complete.X, complete.rows
        if complete.y is not None:
            y[place] = complete.y
        kept += len(complete.X)
    _check_unchanged(source, tally.n_rows == n_rows)
    tally.refuse(source.name, drop_missing)
    pa.default_memory_pool().release_unused()  # it would keep as much again as the table
    return TableRows(X[:kept], y[:kept] if with_target else None, rows[:kept], n_rows - kept)


def iter_batches(
    source: TableSource,
    plan: ColumnPlan,
    *,
    with_target: bool = False,
    drop_missing: bool = False,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[TableRows]:
    """Read the features (and target) of a table batch by batch; run `check_table` first to learn of bad rows early.

    Parameters
    ----------
    source : TableSource
        From `open_table`.
    plan : ColumnPlan
        From `plan_columns`, or from the model.
    with_target : bool, default=False
        Read the plan's target too.
    drop_missing : bool, default=False
        Leave rows with missing values out instead of refusing them; infinite values are refused always.
    batch_rows : int, default=65536
        Most rows of a batch.

    Yields
    ------
    TableRows

    Raises
    ------
    InvalidInputError
        Missing values, with counts by column in the first batch that has any; infinite values; columns that are
        missing, repeated or of an unusable type; a damaged file.
    InvalidParameterError
        `batch_rows` below 1.
    """
    if batch_rows < 1:
        raise InvalidParameterError(f"batch_rows must be at least 1, got {batch_rows}.")
    tally = Tally()
    for part in _parts(source, plan, with_target, batch_rows, tally):
        tally.refuse(source.name, drop_missing)
        yield _complete(part) if drop_missing else part


def check_table(source: TableSource, plan: ColumnPlan, *, with_target: bool = False, drop_missing: bool = False) -> int:
    """Read a table through and refuse what `iter_batches` would, before any other work is spent on it.

    Parameters
    ----------
    source, plan, with_target, drop_missing
        As in `iter_batches`.

    Returns
    -------
    int
        Complete rows: those that `iter_batches` will give.

    Raises
    ------
    InvalidInputError
        As in `iter_batches`, with the counts of the whole table.
    """
    tally = Tally()
    for _ in _parts(source, plan, with_target, BATCH_ROWS, tally):
        pass
    tally.refuse(source.name, drop_missing)
    return tally.n_rows - tally.n_incomplete


def _parts(
    source: TableSource, plan: ColumnPlan, with_target: bool, batch_rows: int, tally: Tally
) -> Iterator[TableRows]:
    """Every batch as numbers, NaN where missing, counted in the tally."""
    names = _columns_to_read(plan, with_target)
    check_columns(source, plan, with_target)
    for batch in source.batches(names, plan.dates, batch_rows):
        part = _numbers(batch, plan, with_target, first_row=tally.n_rows)
        tally.add(_by_column(part, plan), _incomplete(part))
        yield part


def _columns_to_read(plan: ColumnPlan, with_target: bool) -> list[str]:
    if not with_target:
        return list(plan.features)
    if plan.target is None:
        raise InvalidParameterError("This column plan has no target; plan the columns with target=... to read it.")
    return [*plan.features, plan.target]


def _numbers(batch: pa.RecordBatch, plan: ColumnPlan, with_target: bool, first_row: int) -> TableRows:
    X = np.column_stack([values for name in plan.features for values in numbers_of(batch.column(name), name, plan)])
    y = as_float64(batch.column(plan.target)) if with_target else None
    return TableRows(X, y, np.arange(first_row, first_row + batch.num_rows), 0)


def _by_column(part: TableRows, plan: ColumnPlan) -> dict[str, FloatArray]:
    """One array of values per source column; the first part stands for a date."""
    first = np.cumsum([0, *(len(plan.names_of(name)) for name in plan.features)])
    columns = {name: part.X[:, first[i]] for i, name in enumerate(plan.features)}
    return columns if part.y is None or plan.target is None else {**columns, plan.target: part.y}


def _incomplete(part: TableRows) -> NDArray[np.bool_]:
    gaps = np.isnan(part.X).any(axis=1)
    return np.asarray(gaps if part.y is None else gaps | np.isnan(part.y))


def _complete(part: TableRows) -> TableRows:
    """The part without incomplete rows."""
    keep = ~_incomplete(part)
    y = None if part.y is None else part.y[keep]
    return TableRows(part.X[keep], y, part.rows[keep], int(len(keep) - keep.sum()))


def _check_unchanged(source: TableSource, unchanged: bool) -> None:
    if not unchanged:
        raise InvalidInputError(f"{source.name!r} changed while it was read. Run again when nothing writes to it.")
