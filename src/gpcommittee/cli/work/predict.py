"""From a model and a table to a file of predictions, in batches that never hold the whole table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpcommittee._partitions import predict_source
from gpcommittee.cli.work.cluster import refuse_folder
from gpcommittee.cli.work.model import NamedModel
from gpcommittee.cli.work.talk import counted, refuse_same_file, say
from gpcommittee.data import (
    PREDICTION_COLUMNS,
    TableRows,
    check_output,
    check_table,
    iter_batches,
    open_table,
    prediction_columns,
    write_table,
)
from gpcommittee.distributed import open_points
from gpcommittee.metrics import half_width_in_deviations
from gpcommittee.progress import PartOf, Reporter, Stage, reporter_for
from gpcommittee.records import FloatArray, IntArray

Batch = dict[str, FloatArray]


@dataclass(frozen=True)
class Wanted:
    """What is to be predicted.

    Attributes
    ----------
    aggregation : str or None
        None for the model's own rule.
    level : float
        Probability of the interval from lower to upper.
    latent : bool
        Uncertainty of the function, without noise.
    drop_missing : bool
        Leave the predictions of incomplete rows empty.
    """

    aggregation: str | None
    level: float
    latent: bool
    drop_missing: bool


def predict_table(named: NamedModel, data: Path, out: Path, wanted: Wanted, *, batch_rows: int, quiet: bool) -> None:
    """Predict every row of a table into a file with as many rows in the same order.

    Parameters
    ----------
    named : NamedModel
    data, out : pathlib.Path
        Table and file of predictions.
    wanted : Wanted
    batch_rows : int
        Complete rows that are predicted at a time.
    quiet : bool

    Raises
    ------
    GPCommitteeError
        If the table or the output file cannot be used.
    """
    refuse_folder(data, named.regressor.engine)
    if data.is_dir():
        _predict_folder(named, data, out, wanted, quiet)
        return
    refuse_same_file("--out", check_output(out), {"DATA": data, "MODEL": named.path})
    deviations = _deviations(named, wanted)
    source = open_table(data)
    n_complete = check_table(source, named.columns, drop_missing=wanted.drop_missing)
    n_rows = source.count_rows() if wanted.drop_missing else n_complete
    parts = iter_batches(source, named.columns, drop_missing=wanted.drop_missing, batch_rows=batch_rows)
    reporter = reporter_for(0 if quiet else 1)
    with reporter.stage("predict", n_complete, unit="rows") as stage:
        predictions = _predictions(named, full_batches(parts, batch_rows), wanted, deviations, reporter, stage)
        n_written = write_table(out, PREDICTION_COLUMNS, in_every_row(predictions, n_rows))
    say(_last_line(out, n_written, n_written - n_complete), quiet=quiet)


def _predict_folder(named: NamedModel, data: Path, out: Path, wanted: Wanted, quiet: bool) -> None:
    """Every partition to a file of its own, by the workers."""
    refuse_same_file("--out", out, {"DATA": data, "MODEL": named.path})
    named.regressor.set_params(verbose=0 if quiet else 1)
    source = open_points(data, named.columns, named.regressor.n_features_in_, drop_missing=wanted.drop_missing)
    done = predict_source(
        named.regressor, source, out, wanted.aggregation, level=wanted.level, include_noise=not wanted.latent
    )
    empty = f"; {done.n_empty:,} of them empty, for rows with missing values" if done.n_empty else ""
    kept = f" {counted(done.n_kept, 'file')} of an earlier run kept." if done.n_kept else ""
    written = f"{counted(done.n_rows, 'row')} in {counted(done.n_files - done.n_kept, 'file')}"
    say(f"Wrote {written} to {out}{empty}.{kept}", quiet=quiet)


def full_batches(parts: Iterable[TableRows], batch_rows: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """Row numbers and inputs in batches of exactly ``batch_rows`` rows, the last one excepted.

    So the numbers do not depend on how a file is divided into blocks.
    """
    rows: list[IntArray] = []
    inputs: list[FloatArray] = []
    for part in parts:
        rows.append(part.rows)
        inputs.append(part.X)
        while sum(map(len, rows)) >= batch_rows:
            all_rows, all_inputs = np.concatenate(rows), np.concatenate(inputs)
            yield all_rows[:batch_rows], all_inputs[:batch_rows]
            rows, inputs = [all_rows[batch_rows:]], [all_inputs[batch_rows:]]
    if sum(map(len, rows)):
        yield np.concatenate(rows), np.concatenate(inputs)


def in_every_row(predictions: Iterable[tuple[IntArray, Batch]], n_rows: int) -> Iterator[Batch]:
    """The predictions at their places among ``n_rows`` rows, NaN where a row has none."""
    first = 0
    for rows, batch in predictions:
        stop = int(rows[-1]) + 1
        yield {name: _placed(values, rows - first, stop - first) for name, values in batch.items()}
        first = stop
    if first < n_rows:
        yield {name: np.full(n_rows - first, np.nan) for name in PREDICTION_COLUMNS}


def _placed(values: FloatArray, places: IntArray, n_rows: int) -> FloatArray:
    column = np.full(n_rows, np.nan)
    column[places] = values
    return column


def _predictions(
    named: NamedModel,
    batches: Iterable[tuple[IntArray, FloatArray]],
    wanted: Wanted,
    deviations: float,
    reporter: Reporter,
    stage: Stage,
) -> Iterator[tuple[IntArray, Batch]]:
    rule = wanted.aggregation or named.regressor.aggregation
    for rows, X in batches:
        part = PartOf(reporter, stage, len(rows))
        [prediction] = named.regressor._predict(named.inputs(X), [rule], mean_only=False, reporter=part)
        part.reach(1.0)
        yield rows, prediction_columns(prediction, deviations, include_noise=not wanted.latent)


def _deviations(named: NamedModel, wanted: Wanted) -> float:
    """Half an interval in standard deviations; what was calibrated on observations says nothing of the function."""
    if wanted.latent:
        return half_width_in_deviations(wanted.level)
    return named.regressor.interval_half_width(wanted.level, wanted.aggregation)


def _last_line(out: Path, n_rows: int, n_empty: int) -> str:
    empty = f"; {n_empty:,} of them empty, for rows with missing values" if n_empty else ""
    return f"Wrote {counted(n_rows, 'row')} to {out}{empty}."
