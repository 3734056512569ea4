"""From a table's size to what a fit and a prediction take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from gpcommittee.cli.work.columns import Columns
from gpcommittee.cli.work.plan_cluster import cluster_lines
from gpcommittee.cli.work.rows import require_rows
from gpcommittee.cli.work.talk import aligned, counted, duration, size
from gpcommittee.data import TableSource, check_table, open_table
from gpcommittee.distributed.parquet import parquet_files
from gpcommittee.errors import InvalidParameterError
from gpcommittee.planning import ClusterPlan, Plan, plan_cluster, plan_fit


def plan_table(
    data: Path,
    columns: Columns,
    test_rows: int,
    settings: Mapping[str, Any],
    *,
    drop_missing: bool,
    workers: int | None = None,
) -> Plan | ClusterPlan:
    """Plan the fit of a table, of which only rows and columns are counted.

    Parameters
    ----------
    data : pathlib.Path
    columns : Columns
    test_rows : int
        Rows to predict afterwards.
    settings : mapping
        Of the estimator.
    drop_missing : bool
        Count complete rows only; the table is read through for that.
    workers : int, optional
        Of a cluster; the data may then be a folder of Parquet files.

    Raises
    ------
    GPCommitteeError
        If the table or a setting cannot be used.
    """
    if data.is_dir() and not workers:
        raise InvalidParameterError(f"'{data}' is a folder. Add --workers N to plan for a cluster that reads it.")
    sources = _sources(data) if workers else [open_table(data)]
    plan = columns.plan(sources[0])
    n_rows = sum(
        check_table(source, plan, with_target=True, drop_missing=True) if drop_missing else source.count_rows()
        for source in sources
    )
    require_rows(data, sources[0], n_rows, "to fit")
    if workers is None:
        return plan_fit(n_rows, len(plan.feature_names), test_rows, from_table=True, **settings)
    if settings["n_jobs"] is not None:
        raise InvalidParameterError(
            "--jobs are threads of one process and --workers those of a cluster, which have one thread each; give one "
            "of them."
        )
    return plan_cluster(n_rows, len(plan.feature_names), test_rows, n_workers=workers, **settings)


def print_plan(plan: Plan | ClusterPlan, *, as_json: bool) -> None:
    """The plan on standard output, in lines to read or as JSON."""
    if isinstance(plan, ClusterPlan):
        content, lines = asdict(plan), cluster_lines(plan)
    else:
        content, lines = {**asdict(plan), "peak_memory": plan.peak_memory}, _lines(plan)
    typer.echo(json.dumps(content, indent=2) if as_json else aligned(list(lines)))


def _sources(data: Path) -> list[TableSource]:
    """The table, or the files of a folder."""
    return [open_table(path) for path in parquet_files(data)] if data.is_dir() else [open_table(data)]


def _lines(plan: Plan) -> Iterator[tuple[str, str]]:
    yield "table", f"{counted(plan.n_rows, 'row')}, {counted(plan.n_features, 'feature')}"
    yield "experts", _experts(plan)
    yield "kernel", _kernel(plan)
    yield (
        "machine",
        f"{counted(plan.n_workers, 'thread')}, {plan.machine_rate / 1e9:.3g} GFLOP/s in matrix products together",
    )
    yield "fit", _fit(plan)
    if plan.n_test:
        yield "predict", _prediction(plan)
    yield "memory", _memory(plan)
    yield "advice", plan.advice


def _experts(plan: Plan) -> str:
    rows = counted(plan.expert_size, "row")
    return f"{plan.n_experts:,} with up to {rows}; {plan.communication_size:,} for communication"


def _kernel(plan: Plan) -> str:
    if plan.n_kernels == 1:
        return plan.kernel
    return f"auto, the best of {plan.n_kernels}; counted as if it were {plan.kernel}, the dearest"


def _fit(plan: Plan) -> str:
    typical, longest = duration(plan.fit_seconds), duration(plan.longest_fit_seconds)
    return f"about {typical} with {counted(plan.evaluations, 'evaluation')}, at most about {longest}"


def _prediction(plan: Plan) -> str:
    factors = "kept" if plan.factors_kept else "computed again for every batch"
    seconds = f"about {duration(plan.predict_seconds)} for {counted(plan.n_test, 'row')}"
    return f"{seconds}; factors of {size(plan.factor_bytes)}, {factors}"


def _memory(plan: Plan) -> str:
    fit, predict = size(plan.fit_memory.peak), size(plan.predict_memory.peak)
    return f"{size(plan.peak_memory)} at the peak: fit {fit}, predict {predict}"
