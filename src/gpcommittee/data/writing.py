"""Predictions to CSV or Parquet, batch by batch, under their final name only when complete."""

from __future__ import annotations

import csv as text_csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from gpcommittee.data._wording import quoted
from gpcommittee.data.endings import ENDINGS, is_csv, is_gzip, is_parquet
from gpcommittee.errors import GPCommitteeError, InvalidInputError, InvalidParameterError, OutputError
from gpcommittee.files import replacing, why_not_writable


def write_table(
    path: str | os.PathLike[str], columns: Sequence[str], batches: Iterable[Mapping[str, NDArray[Any]]]
) -> int:
    """Write batches of columns to a CSV or Parquet file that appears only once all are written.

    Parameters
    ----------
    path : path
        Ends in .csv, .csv.gz, .parquet or .pq; an existing file is replaced at the end.
    columns : sequence of str
        Column names in file order, written even when there are no batches.
    batches : iterable of mapping of str to ndarray of shape (n_batch_rows,)
        Integer arrays (in the first batch) make an integer column, all others float64, every digit kept. NaN is written
        as a missing value.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    InvalidParameterError
        Another ending, or a folder that does not exist.
    InvalidInputError
        A batch with other columns than the first, or with columns of different lengths.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "predictions.csv"
    ...     n_rows = write_table(target, ["mean", "std"], [{"mean": np.array([1.5]), "std": np.array([0.25])}])
    ...     print(target.read_text())
    mean,std
    1.5,0.25
    """
    target = check_output(path)
    with _own_errors(target), replacing(target) as temporary:
        return _write(temporary, target, columns, iter(batches))


@contextmanager
def _own_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except GPCommitteeError:
        raise
    except OSError as error:
        raise OutputError(
            f"Cannot write '{target}': {error}. A file that was there before is unchanged. Check the free space, or "
            "choose another folder."
        ) from error


def check_output(path: str | os.PathLike[str]) -> Path:
    """Refuse an output file that could not be written, before any work is spent on its content.

    Parameters
    ----------
    path : path

    Returns
    -------
    pathlib.Path

    Raises
    ------
    InvalidParameterError
        An ending other than .csv, .csv.gz, .parquet or .pq, a folder that does not exist or cannot be written, or
        the name of a folder.
    """
    target = Path(path)
    if not (is_csv(target) or is_parquet(target)):
        raise InvalidParameterError(f"{target.name!r} has an unknown ending. Allowed are {ENDINGS}.")
    if problem := why_not_writable(target):
        raise InvalidParameterError(f"Cannot write '{target}': {problem}")
    return target


def _write(temporary: Path, target: Path, columns: Sequence[str], batches: Iterator[Mapping[str, NDArray[Any]]]) -> int:
    first = next(batches, {name: np.empty(0) for name in columns})
    schema = pa.schema([(name, _column_type(first, name)) for name in columns])
    n_rows = 0
    with ExitStack() as opened:
        writer = opened.enter_context(_writer(temporary, target, schema, opened))
        for batch in _chained(first, batches):
            writer.write_batch(_record_batch(batch, schema))
            n_rows += len(batch[columns[0]])
    return n_rows


def _chained(
    first: Mapping[str, NDArray[Any]], rest: Iterator[Mapping[str, NDArray[Any]]]
) -> Iterator[Mapping[str, NDArray[Any]]]:
    yield first
    yield from rest


def _writer(temporary: Path, target: Path, schema: pa.Schema, opened: ExitStack) -> Any:
    if is_parquet(target):
        return pq.ParquetWriter(temporary, schema)
    stream = opened.enter_context(pa.output_stream(str(temporary), compression="gzip" if is_gzip(target) else None))
    stream.write(_header_line(schema.names))
    return csv.CSVWriter(stream, schema, write_options=csv.WriteOptions(include_header=False))


def _header_line(names: Sequence[str]) -> bytes:
    text = io.StringIO()
    text_csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def _column_type(batch: Mapping[str, NDArray[Any]], name: str) -> pa.DataType:
    return pa.int64() if name in batch and batch[name].dtype.kind in "iu" else pa.float64()


def _record_batch(batch: Mapping[str, NDArray[Any]], schema: pa.Schema) -> pa.RecordBatch:
    if set(batch) != set(schema.names):
        raise InvalidInputError(f"A batch has columns {quoted(list(batch))}; the file has {quoted(schema.names)}.")
    lengths = {name: len(batch[name]) for name in schema.names}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"The columns of a batch must be equally long, got lengths {lengths}.")
    # from_pandas: a NaN is a missing value.
    arrays = [pa.array(batch[column.name], type=column.type, from_pandas=True) for column in schema]
    return pa.record_batch(arrays, schema=schema)
