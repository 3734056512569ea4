"""The command ``evaluate``."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcommittee.cli.options import (
    AggregationName,
    Dask,
    Data,
    DropMissing,
    FeaturesOfModel,
    Format,
    Jobs,
    Level,
    MemoryBudget,
    Model,
    Output,
    Quiet,
    listed,
    nearest,
    split_names,
)
from gpcommittee.cli.outcome import outcome

NOT_IN_ALL = (AggregationName.NPAE, AggregationName.AUTO)
"""The slow one, and one that is among the others."""


def rule_names(text: str | None) -> tuple[str, ...] | None:
    """Names of rules from a comma-separated list; ``all`` stands for every rule but NPAE.

    Examples
    --------
    >>> rule_names("grbcm,poe")
    ('grbcm', 'poe')
    """
    if text is None:
        return None
    return (
        tuple(name.value for name in AggregationName if name not in NOT_IN_ALL)
        if text == "all"
        else tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    )


def known_rules(text: str | None) -> str | None:
    """Refuse names that are no rules."""
    unknown = [name for name in rule_names(text) or () if name not in list(AggregationName)]
    if unknown:
        hints = "".join(nearest(name, AggregationName) for name in unknown)
        raise typer.BadParameter(
            f"{', '.join(map(repr, unknown))} is none of {listed(AggregationName)} and all.{hints}"
        )
    return text


def evaluate(
    model: Model,
    data: Data,
    aggregation: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...|all",
            callback=known_rules,
            show_default="the model's",
            help=f"Rules to compare, in one pass: {listed(AggregationName)}, or all (but npae).",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", show_default="the model's", help="Column of the true values.")
    ] = None,
    level: Level = 0.95,
    features: FeaturesOfModel = None,
    drop_missing: DropMissing = False,
    output: Output = Format.TABLE,
    jobs: Jobs = None,
    dask: Dask = None,
    memory_budget: MemoryBudget = None,
    quiet: Quiet = False,
) -> None:
    """Score a model's predictions on a table that has the target.

    Prints how wrong the predictions are (SMSE, RMSE, MAE) and how right the
    model is about its own uncertainty (MSLL, NLPD, CRPS, coverage and width
    of the central interval, mean squared z-score), and how many targets lie
    inside the intervals of 10 to 99%.

    [bold]Examples[/bold]

    \b
    gpcommittee evaluate model.gpc test.parquet
    gpcommittee evaluate model.gpc test.csv --aggregation all
    gpcommittee evaluate model.gpc test.csv --format json --quiet > scores.json
    """  # noqa: D301
    with outcome(quiet=quiet, after_interrupt=""):
        from gpcommittee.cli.work.cluster import dask_client
        from gpcommittee.cli.work.evaluate import evaluate_table, print_scores
        from gpcommittee.cli.work.model import open_model

        settings = {"n_jobs": jobs, "memory_budget": memory_budget}
        with dask_client(dask) as engine:
            named = open_model(model, split_names(features), settings, engine)
            scores = evaluate_table(
                named, data, rule_names(aggregation), target=target, level=level, drop_missing=drop_missing, quiet=quiet
            )
        print_scores(scores, as_json=output is Format.JSON)
