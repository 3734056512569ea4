"""The command ``predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcommittee.cli.options import (
    FLAG,
    AggregationName,
    Dask,
    Data,
    FeaturesOfModel,
    Jobs,
    Level,
    MemoryBudget,
    Model,
    Quiet,
    listed,
    one_of,
    split_names,
)
from gpcommittee.cli.outcome import outcome


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write: .csv, .csv.gz, .parquet or .pq; of a folder, the folder for its predictions.",
        ),
    ],
    aggregation: Annotated[
        AggregationName | None,
        typer.Option(
            metavar="NAME",
            parser=one_of(AggregationName),
            show_default="the model's",
            help=f"Any rule, without fitting again: {listed(AggregationName)} (npae is slow; auto is the model's).",
        ),
    ] = None,
    level: Level = 0.95,
    latent: Annotated[
        bool,
        typer.Option(
            "--latent", metavar=FLAG, help="Uncertainty of the function itself, not of a new noisy observation."
        ),
    ] = False,
    features: FeaturesOfModel = None,
    drop_missing: Annotated[
        bool,
        typer.Option(
            "--drop-missing",
            metavar=FLAG,
            help="Leave the predictions of rows with missing values empty instead of refusing the table.",
        ),
    ] = False,
    batch_rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Rows read, predicted and written at a time.")
    ] = 65_536,
    jobs: Jobs = None,
    dask: Dask = None,
    memory_budget: MemoryBudget = None,
    quiet: Quiet = False,
) -> None:
    """Predict every row of a table.

    Writes the columns mean, std, lower and upper: one row for each row of
    DATA, in its order. Columns of DATA are found by name; other columns are
    ignored. Intervals are conformal if the model was fitted with
    --conformal-rows, except with --latent, and Gaussian otherwise.

    [bold]Examples[/bold]

    \b
    gpcommittee predict model.gpc new.csv --out predictions.parquet
    gpcommittee predict model.gpc new.csv --out predictions.csv --level 0.8
    gpcommittee predict model.gpc new.parquet -o rbcm.csv --aggregation rbcm
    gpcommittee predict model.gpc parts/ --dask local:4 --out predicted/
    """  # noqa: D301
    with outcome(quiet=quiet):
        from gpcommittee.cli.work.cluster import dask_client
        from gpcommittee.cli.work.model import open_model
        from gpcommittee.cli.work.predict import Wanted, predict_table

        settings = {"n_jobs": jobs, "memory_budget": memory_budget}
        wanted = Wanted(None if aggregation is None else aggregation.value, level, latent, drop_missing)
        with dask_client(dask) as engine:
            named = open_model(model, split_names(features), settings, engine)
            predict_table(named, data, out, wanted, batch_rows=batch_rows, quiet=quiet)
