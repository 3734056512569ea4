"""From a table's size to what a fit and a prediction take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from gpcommittee.cli.work.columns import Columns
from gpcommittee.cli.work.rows import require_rows
from gpcommittee.cli.work.talk import aligned, counted, duration
from gpcommittee.data import check_table, open_table
from gpcommittee.planning import Plan, plan_fit

GIBIBYTE, MEBIBYTE = 2.0**30, 2.0**20


def plan_table(
    data: Path, columns: Columns, test_rows: int, settings: Mapping[str, Any], *, drop_missing: bool
) -> Plan:
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

    Raises
    ------
    GPCommitteeError
        If the table or a setting cannot be used.
    """
    source = open_table(data)
    plan = columns.plan(source)
    n_rows = check_table(source, plan, with_target=True, drop_missing=True) if drop_missing else source.count_rows()
    require_rows(data, source, n_rows, "to fit")
    return plan_fit(n_rows, len(plan.feature_names), test_rows, from_table=True, **settings)


def print_plan(plan: Plan, *, as_json: bool) -> None:
    """The plan on standard output, in lines to read or as JSON."""
    content = {**asdict(plan), "peak_memory": plan.peak_memory}
    typer.echo(json.dumps(content, indent=2) if as_json else aligned(list(_lines(plan))))


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
    every = " with every expert, to the tolerance less where few matter" if plan.chooses else ""
    return f"{seconds}{every}; factors of {_size(plan.factor_bytes)}, {factors}"


def _memory(plan: Plan) -> str:
    fit, predict = _size(plan.fit_memory.peak), _size(plan.predict_memory.peak)
    return f"{_size(plan.peak_memory)} at the peak: fit {fit}, predict {predict}"


def _size(n_bytes: float) -> str:
    """Bytes as people say them.

    >>> _size(2e6), _size(2.5e9)
    ('1.91 MiB', '2.33 GiB')
    """
    return f"{n_bytes / GIBIBYTE:.3g} GiB" if n_bytes > 0.1 * GIBIBYTE else f"{n_bytes / MEBIBYTE:.3g} MiB"
