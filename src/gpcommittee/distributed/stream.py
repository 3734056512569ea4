"""Test partitions to files of predictions: rows are read, predicted and written on the workers.

Partitions are taken together until their points make a batch, so that many small files cost no more than a large one.
A few such groups are on the way at a time. The client sees row counts alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data import write_table
from gpcommittee.distributed.blocks import Block
from gpcommittee.distributed.cluster import RETRIES, checked_client, gathered
from gpcommittee.distributed.output import OutputFolder, open_output
from gpcommittee.distributed.parquet import ParquetPart
from gpcommittee.distributed.source import RowSource
from gpcommittee.errors import GPCommitteeError, InvalidParameterError, InvalidTypeError, WorkerError
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_POINTS = 16_384
"""Most points that are predicted together: computing every factor anew then takes some per cent of the work. Fixed, so
that the numbers do not depend on the cluster."""

IN_FLIGHT = 4
"""Groups of partitions that are on the way at a time."""

READ_AHEAD = 4
"""Partitions that are read at a time."""

Columns = Mapping[str, NDArray[Any]]

Piece = tuple["Future[Any]", slice]
"""Of a block of points, or of an answer: some of its points."""


@dataclass(frozen=True)
class Streamed:
    """What became of the partitions.

    Attributes
    ----------
    folder : pathlib.Path
    n_files : int
    n_kept : int
        Files that an earlier run had written.
    n_rows, n_empty : int
        Rows of the files written now, and how many of them have no prediction, for missing values.
    """

    folder: Path
    n_files: int
    n_kept: int
    n_rows: int
    n_empty: int


@dataclass(frozen=True)
class _Reading:
    """A partition that a worker reads, with its number and the number of its rows."""

    number: int
    block: Future[Any]
    counted: Future[Any]


@dataclass(frozen=True)
class _Writing:
    """A partition whose file a worker writes."""

    number: int
    written: Future[Any]


@dataclass(frozen=True)
class Pass:
    """One run over the partitions.

    Attributes
    ----------
    client : distributed.Client
    source : RowSource
    folder : OutputFolder
    submit : callable
        From a future of points, an array of shape (n_points, n_features) in original units, and their number, at least
        1 and at most ``batch_points``, to a future of an answer.
    to_columns : callable
        From an answer to columns of n_points values, on a worker.
    columns : sequence of str
    batch_points : int
    """

    client: Client
    source: RowSource
    folder: OutputFolder
    submit: Callable[[Future[Any], int], Future[Any]]
    to_columns: Callable[[Any], Columns]
    columns: Sequence[str]
    batch_points: int

    def written(self) -> Iterator[tuple[int, int]]:
        """Rows in each file that is written, and how many of them are empty."""
        waiting: deque[list[_Writing]] = deque()
        for group in self._groups():
            waiting.append(self._predict(group))
            if len(waiting) > IN_FLIGHT:
                yield from map(self._finish, waiting.popleft())
        for writings in waiting:
            yield from map(self._finish, writings)

    def _groups(self) -> Iterator[list[tuple[_Reading, int]]]:
        """Partitions with their numbers of points, as many as make a batch."""
        missing = iter(self.folder.missing)
        reading = deque(map(self._read, islice(missing, READ_AHEAD)))
        group: list[tuple[_Reading, int]] = []
        while reading:
            one = reading.popleft()
            group.append((one, _unless_refused(gathered(self.client, [one.counted], "Reading test points")[0])))
            reading.extend(map(self._read, islice(missing, 1)))
            if sum(n_points for _, n_points in group) >= self.batch_points or not reading:
                yield group
                group = []

    def _read(self, number: int) -> _Reading:
        block = self.client.compute(self.source.delayed_block(number), sync=False, retries=RETRIES, priority=1)
        return _Reading(number, block, self.client.submit(_n_rows, block, pure=False, retries=RETRIES, priority=1))

    def _predict(self, group: Sequence[tuple[_Reading, int]]) -> list[_Writing]:
        """Start the predictions of a group, and have them written to the files of its partitions."""
        ends = [0, *accumulate(n_points for _, n_points in group)]
        blocks = [(reading.block, range(*own)) for (reading, _), own in zip(group, pairwise(ends), strict=True)]
        starts = range(0, ends[-1], self.batch_points)
        batches = [range(start, min(start + self.batch_points, ends[-1])) for start in starts]
        answers = [(self._answer(_pieces(blocks, batch), len(batch)), batch) for batch in batches]
        writings = []
        for (reading, _), (block, own) in zip(group, blocks, strict=True):
            write = partial(write_part, str(self.folder.file(reading.number)), tuple(self.columns), self.to_columns)
            written = self.client.submit(write, block, _pieces(answers, own), pure=False, retries=RETRIES)
            writings.append(_Writing(reading.number, written))
        return writings

    def _answer(self, pieces: Sequence[Piece], n_points: int) -> Future[Any]:
        """Start the prediction of some points of several blocks."""
        return self.submit(self.client.submit(_points, pieces, pure=False, retries=RETRIES), n_points)

    def _finish(self, writing: _Writing) -> tuple[int, int]:
        what = f"Predicting partition {writing.number}"
        n_rows, n_empty = _unless_refused(gathered(self.client, [writing.written], what)[0])
        file = self.folder.file(writing.number)
        if not file.is_file():
            raise WorkerError(
                f"A worker wrote {str(file)!r}, and it is not there for the client: the folder must be one that all "
                "machines see by the same name."
            )
        return n_rows, n_empty


def stream_predictions(
    client: Any,
    source: RowSource,
    folder: str | os.PathLike[str],
    *,
    submit: Callable[[Future[Any], int], Future[Any]],
    to_columns: Callable[[Any], Columns],
    columns: Sequence[str],
    model: str,
    reporter: Reporter,
    batch_points: int = BATCH_POINTS,
) -> Streamed:
    """Predict every partition of the test points into a file of its own, with as many rows in the same order.

    A run that was stopped, whatever by, is taken up by running it again: partitions whose file is there are not
    predicted again, if model, columns and partition are the same.

    Parameters
    ----------
    client : distributed.Client
    source : RowSource
        From `open_points`.
    folder : path
        Which the client and all workers see by this name.
    submit : callable
        From a future of points, an array of shape (n_points, n_features) in original units, and their number, at least
        1 and at most ``batch_points``, to a future of an answer.
    to_columns : callable
        From an answer to the columns of a file, n_points values each; runs on a worker, so it must be picklable.
    columns : sequence of str
        Names of the columns, in the order of a file.
    model : str
        Tells this model and what is asked of it from any other.
    reporter : Reporter
    batch_points : int
        Most points that are predicted together.

    Returns
    -------
    Streamed

    Raises
    ------
    InvalidTypeError
        A folder that is no path.
    InvalidParameterError
        The client cannot work, or the folder cannot be used.
    InvalidInputError
        Values that are missing, infinite or no numbers, with partition or file and column.
    WorkerError
        A partition that no worker could read, predict or write.
    """
    checked = checked_client(client)
    if not isinstance(folder, str | os.PathLike):
        raise InvalidTypeError(f"The folder of predictions is a path, got {type(folder).__name__}.")
    _refuse_inputs(source, Path(folder).resolve())
    output = open_output(Path(folder), model, columns, source.identities)
    if output.finished:
        reporter.message(f"{len(output.finished)} of {len(output.files)} files are there and kept.")
    run = Pass(checked, source, output, submit, to_columns, columns, batch_points)
    n_rows, n_empty = 0, 0
    with reporter.stage("predict", len(output.missing), unit="files") as stage:
        for rows, empty in run.written():
            n_rows, n_empty = n_rows + rows, n_empty + empty
            stage.advance(1)
    return Streamed(output.path, len(output.files), len(output.finished), n_rows, n_empty)


def _refuse_inputs(source: RowSource, folder: Path) -> None:
    """Refuse to write where points are read."""
    if any(isinstance(part, ParquetPart) and Path(part.path).resolve().parent == folder for part in source.parts):
        raise InvalidParameterError(f"Folder {str(folder)!r} has the points to be predicted. Name another one.")


def write_part(
    path: str,
    columns: Sequence[str],
    to_columns: Callable[[Any], Columns],
    block: Block,
    answers: Sequence[tuple[Any, slice]],
) -> tuple[int, int] | GPCommitteeError:
    """Write the predictions of one partition, nothing where its rows are incomplete; its rows, and those without."""
    try:
        parts = [(to_columns(answer), where) for answer, where in answers]
        values = {
            name: np.concatenate([np.empty(0), *(part[name][where] for part, where in parts)]) for name in columns
        }
        n_rows = write_table(path, columns, [{name: _in_every_row(values[name], block) for name in columns}])
    except GPCommitteeError as error:
        return error
    return n_rows, block.n_dropped


def _in_every_row(values: FloatArray, block: Block) -> FloatArray:
    if block.places is None:
        return values
    column = np.full(len(values) + block.n_dropped, np.nan)
    column[block.places] = values
    return column


def _points(pieces: Sequence[tuple[Block, slice]]) -> FloatArray:
    return np.concatenate([block.X[where] for block, where in pieces])


def _pieces(parts: Sequence[tuple[Future[Any], range]], wanted: range) -> list[Piece]:
    """Parts, each of a range of points, that hold some of the wanted ones, with where in them these are."""
    found = []
    for part, own in parts:
        start, stop = max(own.start, wanted.start), min(own.stop, wanted.stop)
        if start < stop:
            found.append((part, slice(start - own.start, stop - own.start)))
    return found


def _n_rows(block: Block | GPCommitteeError) -> int | GPCommitteeError:
    return block if isinstance(block, GPCommitteeError) else len(block.X)


def _unless_refused(answer: Any) -> Any:
    if isinstance(answer, GPCommitteeError):
        raise answer
    return answer
