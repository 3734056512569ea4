"""Test partitions to files of predictions, a few at a time: rows are read, predicted and written on the workers.

The client sees row counts alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data import write_table
from gpcommittee.distributed.blocks import Block
from gpcommittee.distributed.cluster import RETRIES, checked_client, gathered
from gpcommittee.distributed.output import OutputFolder, open_output
from gpcommittee.distributed.source import RowSource
from gpcommittee.errors import GPCommitteeError, WorkerError
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_POINTS = 16_384
"""Most points that are predicted together."""

IN_FLIGHT = 4
"""Partitions that are on the way at a time."""

Columns = Mapping[str, NDArray[Any]]


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
class Pass:
    """One run over the partitions.

    Attributes
    ----------
    client : distributed.Client
    source : RowSource
    folder : OutputFolder
    submit : callable
        From a future of points, an array of shape (n_points, n_features) in original units, and their number, at least
        1 and at most BATCH_POINTS, to a future of an answer.
    to_columns : callable
        From an answer to columns of n_points values, on a worker.
    columns : sequence of str
    """

    client: Client
    source: RowSource
    folder: OutputFolder
    submit: Callable[[Future[Any], int], Future[Any]]
    to_columns: Callable[[Any], Columns]
    columns: Sequence[str]

    def start(self, number: int) -> Future[Any]:
        """Have a partition read, predicted and written; waits until it is read."""
        block = self.client.compute(self.source.delayed_block(number), sync=False, retries=RETRIES, priority=1)
        counted = self.client.submit(_n_rows, block, pure=False, retries=RETRIES, priority=1)
        n_points = _unless_refused(gathered(self.client, [counted], "Reading test points")[0])
        answers = [
            self._answer(block, start, min(start + BATCH_POINTS, n_points))
            for start in range(0, n_points, BATCH_POINTS)
        ]
        write = partial(write_part, str(self.folder.file(number)), tuple(self.columns), self.to_columns)
        return self.client.submit(write, block, answers, pure=False, retries=RETRIES)

    def finish(self, number: int, written: Future[Any]) -> tuple[int, int]:
        """Rows in the file of a partition, and how many of them are empty."""
        n_rows, n_empty = _unless_refused(gathered(self.client, [written], f"Predicting partition {number}")[0])
        file = self.folder.file(number)
        if not file.is_file():
            raise WorkerError(
                f"A worker wrote {str(file)!r}, and it is not there for the client: the folder must be one that all "
                "machines see by the same name."
            )
        return n_rows, n_empty

    def _answer(self, block: Future[Any], start: int, stop: int) -> Future[Any]:
        points = self.client.submit(_points, block, start, stop, pure=False, retries=RETRIES)
        return self.submit(points, stop - start)


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
        1 and at most BATCH_POINTS, to a future of an answer.
    to_columns : callable
        From an answer to the columns of a file, n_points values each; runs on a worker, so it must be picklable.
    columns : sequence of str
        Names of the columns, in the order of a file.
    model : str
        Tells this model and what is asked of it from any other.
    reporter : Reporter

    Returns
    -------
    Streamed

    Raises
    ------
    InvalidParameterError
        The client cannot work, or the folder cannot be used.
    InvalidInputError
        Values that are missing, infinite or no numbers, with partition or file and column.
    WorkerError
        A partition that no worker could read, predict or write.
    """
    checked = checked_client(client)
    output = open_output(Path(folder), model, columns, source.identities)
    if output.finished:
        reporter.message(f"{len(output.finished)} of {len(output.files)} files are there and kept.")
    run = Pass(checked, source, output, submit, to_columns, columns)
    n_rows, n_empty = 0, 0
    waiting: deque[tuple[int, Future[Any]]] = deque()
    with reporter.stage("predict", len(output.missing), unit="files") as stage:
        for number in [*output.missing, *[None] * IN_FLIGHT]:
            if number is not None:
                waiting.append((number, run.start(number)))
            if waiting and (number is None or len(waiting) > IN_FLIGHT):
                rows, empty = run.finish(*waiting.popleft())
                n_rows, n_empty = n_rows + rows, n_empty + empty
                stage.advance(1)
    return Streamed(output.path, len(output.files), len(output.finished), n_rows, n_empty)


def write_part(
    path: str, columns: Sequence[str], to_columns: Callable[[Any], Columns], block: Block, answers: Sequence[Any]
) -> tuple[int, int] | GPCommitteeError:
    """Write the predictions of one partition, nothing where its rows are incomplete; its rows, and those without."""
    try:
        parts = [to_columns(answer) for answer in answers]
        values = {name: np.concatenate([np.empty(0), *(part[name] for part in parts)]) for name in columns}
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


def _points(block: Block, start: int, stop: int) -> FloatArray:
    return block.X[start:stop]


def _n_rows(block: Block | GPCommitteeError) -> int | GPCommitteeError:
    return block if isinstance(block, GPCommitteeError) else len(block.X)


def _unless_refused(answer: Any) -> Any:
    if isinstance(answer, GPCommitteeError):
        raise answer
    return answer
