"""Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpcommittee.data.arrow_errors import readable

# Read column by column through small buffers: Arrow's default would fetch whole row groups ahead.
_BUFFER_BYTES = 2**20


class ParquetFile:
    """A Parquet file, its footer read.

    Parameters
    ----------
    path : pathlib.Path

    Attributes
    ----------
    name : str
        File name, for messages.
    schema : pyarrow.Schema
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = path.name
        with readable(self.name), pq.ParquetFile(path) as file:
            self.schema: pa.Schema = file.schema_arrow
            self._n_rows: int = file.metadata.num_rows

    def count_rows(self) -> int:
        """Rows, from the footer."""
        return self._n_rows

    def batches(self, names: Sequence[str], dates: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `batch_rows` rows with these columns."""
        with readable(self.name), pq.ParquetFile(self._path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            yield from file.iter_batches(batch_size=batch_rows, columns=list(names))
