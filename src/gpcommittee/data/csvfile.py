"""CSV files: commas, a header line, UTF-8. Every number is parsed as float64, whatever the first rows look like."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from gpcommittee.data.arrow_errors import readable
from gpcommittee.data.endings import is_gzip
from gpcommittee.data.kinds import Kind, kind_of
from gpcommittee.errors import InvalidInputError

# Types are inferred from the first block, and no row may be longer than a block.
_BLOCK_BYTES = 2**23
_HEAD_BYTES = 2**16


class CsvFile:
    """A CSV file, opened.

    Parameters
    ----------
    path : pathlib.Path

    Attributes
    ----------
    name : str
        File name, for messages.
    schema : pyarrow.Schema
        Columns, with types as the first block suggests.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name
        with readable(self.name):
            self.schema: pa.Schema = _open(path, _parsing(one_column=False)).schema
            self._columns: list[str] = self.schema.names

    def count_rows(self) -> int:
        """Rows, by reading the file through without converting any number."""
        first = self._columns[:1]
        convert = csv.ConvertOptions(include_columns=first, column_types={name: pa.binary() for name in first})
        with readable(self.name, self._columns):
            return sum(batch.num_rows for batch in self._reader(convert))

    def batches(self, names: Sequence[str], dates: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `batch_rows` rows with these columns."""
        types = {name: _read_type(self.schema.field(name).type, name in dates) for name in names}
        convert = csv.ConvertOptions(include_columns=list(names), column_types=types)
        with readable(self.name, self._columns):
            for block in self._reader(convert):
                for start in range(0, block.num_rows, batch_rows):
                    yield block.slice(start, batch_rows)

    def _reader(self, convert: Any) -> Any:
        return _open(self._path, _parsing(one_column=len(self._columns) == 1), convert)


def _open(path: Path, parsing: Any, convert: Any = None) -> Any:
    return csv.open_csv(
        _stream(path),
        read_options=csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=parsing,
        convert_options=convert,
    )


def _parsing(one_column: bool) -> Any:
    # In a file of one column an empty line is a missing value, not nothing.
    return csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not one_column)


def _stream(path: Path) -> Any:
    """The decompressed bytes; a header line without its line end gets one, for Arrow takes it as no header."""
    with _raw(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip():
        raise InvalidInputError(f"{path.name!r} is empty; a CSV file needs a header line with the column names.")
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InvalidInputError(f"{path.name!r} is UTF-16 text. Save it again as UTF-8.")
    if len(head) < _HEAD_BYTES and b"\n" not in head:
        return pa.BufferReader(head + b"\n")
    return _raw(path)


def _raw(path: Path) -> Any:
    return pa.input_stream(str(path), compression="gzip" if is_gzip(path) else None)


def _read_type(inferred: pa.DataType, is_date: bool) -> pa.DataType:
    kind = kind_of(inferred)
    if not is_date:
        return pa.bool_() if kind is Kind.BOOLEAN else pa.float64()
    if kind is Kind.TIMESTAMP:
        # Later rows may have fractions of a second.
        return pa.timestamp("ns" if inferred.unit == "ns" else "us", inferred.tz)
    return inferred if kind in (Kind.DATE, Kind.TEXT) else pa.timestamp("us")
