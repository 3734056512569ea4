"""Tables: CSV and Parquet files and data frames, opened without reading their rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from gpcommittee.data.csvfile import CsvFile
from gpcommittee.data.endings import ENDINGS, is_csv, is_parquet
from gpcommittee.data.parquetfile import ParquetFile
from gpcommittee.errors import DatasetNotFoundError, InvalidInputError


class TableSource(Protocol):
    """A table that can be read in batches, more than once."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def schema(self) -> pa.Schema:
        """Columns and types; those of a CSV file as its first block suggests."""

    def count_rows(self) -> int:
        """Rows; only a CSV file must be read through to know."""

    def batches(self, names: Sequence[str], dates: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `batch_rows` rows that hold these columns, in the table's row order."""


class Frame:
    """A data frame in memory.

    Parameters
    ----------
    table : pyarrow.Table
    name : str, default="frame"
        For messages.

    Attributes
    ----------
    name : str
    schema : pyarrow.Schema
    """

    def __init__(self, table: pa.Table, name: str = "frame") -> None:
        self._table = table
        self.name = name
        self.schema: pa.Schema = table.schema

    def count_rows(self) -> int:
        """Rows of the frame."""
        return int(self._table.num_rows)

    def batches(self, names: Sequence[str], dates: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `batch_rows` rows with these columns."""
        yield from self._table.select(list(names)).to_batches(batch_rows)


def open_table(source: Any) -> TableSource:
    """Open a file or a data frame.

    Parameters
    ----------
    source : path or frame
        A file ending in .csv, .csv.gz, .parquet or .pq, or any frame that exports Arrow data (pyarrow, polars, pandas).

    Returns
    -------
    TableSource

    Raises
    ------
    DatasetNotFoundError
        No such file.
    InvalidInputError
        Another ending, a folder, an empty or damaged file, or an object that is not a table.

    Examples
    --------
    >>> open_table(pa.table({"x": [1.0, 2.0]})).count_rows()
    2
    """
    if isinstance(source, (str, os.PathLike)):
        return _open_file(Path(source))
    if hasattr(source, "__arrow_c_stream__"):
        return Frame(pa.table(source))
    raise InvalidInputError(
        f"A {type(source).__name__} is not a table. Pass a path ending in {ENDINGS}, or a pandas, polars or "
        "Arrow table."
    )


def _open_file(path: Path) -> TableSource:
    if not (path.is_dir() or is_csv(path) or is_parquet(path)):
        raise InvalidInputError(f"{path.name!r} has an unknown ending. Allowed are {ENDINGS}.")
    if not path.exists():
        raise DatasetNotFoundError(f"No file {str(path)!r}. Check the path; the working folder is {os.getcwd()!r}.")
    if path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a folder. Name one file ending in {ENDINGS}.")
    return CsvFile(path) if is_csv(path) else ParquetFile(path)
