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
    """A Parquet file, or some of its row groups, its footer read.

    Parameters
    ----------
    path : pathlib.Path
    row_groups : sequence of int, optional
        All of them by default.

    Attributes
    ----------
    name : str
        File name, for messages.
    schema : pyarrow.Schema
    group_rows : tuple of int
        Rows of each row group of the file.
    """

    def __init__(self, path: Path, row_groups: Sequence[int] | None = None) -> None:
        self._path = path
        self.name = path.name
        with readable(self.name), pq.ParquetFile(path) as file:
            self.schema: pa.Schema = file.schema_arrow
            footer = file.metadata
            self.group_rows = tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
        self._row_groups = range(len(self.group_rows)) if row_groups is None else row_groups

    def count_rows(self) -> int:
        """Rows, from the footer."""
        return sum(self.group_rows[group] for group in self._row_groups)

    def batches(self, names: Sequence[str], dates: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Batches of at most `batch_rows` rows with these columns."""
        with readable(self.name), pq.ParquetFile(self._path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            yield from file.iter_batches(batch_rows, row_groups=list(self._row_groups), columns=list(names))
