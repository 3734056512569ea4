"""From a table to a model file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpcommittee import _settings
from gpcommittee._held_out import AUTO, candidates
from gpcommittee.aggregation import Rule
from gpcommittee.cli.work.cluster import refuse_folder
from gpcommittee.cli.work.columns import Columns
from gpcommittee.cli.work.model import COLUMNS, named_inputs
from gpcommittee.cli.work.rows import require_rows
from gpcommittee.cli.work.talk import aligned, counted, duration, refuse_same_file, say
from gpcommittee.data import ColumnPlan, TableRows, open_table, read_table, warn_constant_dates
from gpcommittee.distributed import open_rows
from gpcommittee.errors import InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.persistence import check_writable
from gpcommittee.records import FloatArray, IntArray, OwnVariances

ROUNDING = 1e-6
"""A standardised column that varies less is constant."""

MOST_LENGTHSCALES = 5
"""Lengthscales in the summary; the shortest ones say which columns matter."""


def fit_table(
    data: Path,
    out: Path,
    columns: Columns,
    settings: Mapping[str, Any],
    *,
    conformal_rows: int,
    drop_missing: bool,
    quiet: bool,
) -> None:
    """Fit a committee to a table and save it.

    Parameters
    ----------
    data, out : pathlib.Path
        Table and model file.
    columns : Columns
    settings : mapping
        Of the estimator.
    conformal_rows : int
        Rows that are held out of the fit for conformal intervals.
    drop_missing : bool
        Leave rows with missing values out.
    quiet : bool

    Raises
    ------
    GPCommitteeError
        If the table, a setting or the model file cannot be used.
    """
    started = monotonic()
    _check_files(data, out, settings["checkpoint"])
    refuse_folder(data, settings.get("engine"))
    if settings.get("engine") is None:
        _settings.device(settings["device"])
    if data.is_dir():
        _refuse_conformal_rows(conformal_rows)
        plan, model = _fit_folder(data, columns, settings, drop_missing, quiet)
    else:
        plan, model = _fit_file(data, columns, settings, conformal_rows, drop_missing, quiet)
    _save(model, out, plan)
    say(aligned(list(_summary(model, plan, monotonic() - started))), quiet=quiet)
    say(f"Wrote the model {out}.", quiet=quiet)


def _fit_file(
    data: Path, columns: Columns, settings: Mapping[str, Any], conformal_rows: int, drop_missing: bool, quiet: bool
) -> tuple[ColumnPlan, CommitteeRegressor]:
    plan, table = _read(data, columns, drop_missing)
    say(_table_line(data, plan, table), quiet=quiet)
    model = CommitteeRegressor(**settings, verbose=0 if quiet else 1)
    fitted, held = split_rows(len(table.X), conformal_rows, settings["random_state"])
    model.fit(*_some(table, plan, fitted))
    if conformal_rows:
        model.conformalize(*_some(table, plan, held), aggregations=_rules(model))
    return plan, model


def _fit_folder(
    data: Path, columns: Columns, settings: Mapping[str, Any], drop_missing: bool, quiet: bool
) -> tuple[ColumnPlan, CommitteeRegressor]:
    """Rows are read by the workers."""
    source = open_rows(
        data,
        columns.target,
        features=columns.features,
        expand_dates=columns.expand_dates,
        drop_missing=drop_missing,
    )
    plan = cast(ColumnPlan, source.plan)
    say(
        f"Found {counted(len(source.parts), 'part')} in {data.name}: "
        f"{counted(len(plan.feature_names), 'feature')}, target {plan.target}.",
        quiet=quiet,
    )
    return plan, CommitteeRegressor(**settings, verbose=0 if quiet else 1).fit(source, None)


def _refuse_conformal_rows(conformal_rows: int) -> None:
    if conformal_rows:
        raise InvalidParameterError(
            "--conformal-rows needs the rows in one table; of a folder, leave it out, or keep some rows in a file of "
            "their own and call conformalize in Python."
        )


def split_rows(n_rows: int, n_held: int, seed: int) -> tuple[IntArray | slice, IntArray]:
    """Row numbers to fit, and random ones that the fit is not to see.

    Raises
    ------
    InvalidParameterError
        If fewer than half of the rows would be fitted.
    """
    if n_held == 0:
        return slice(None), np.empty(0, dtype=np.int64)
    if 2 * n_held > n_rows:
        raise InvalidParameterError(
            f"--conformal-rows {n_held} is more than half of the {counted(n_rows, 'row')} of the table. Hold out fewer."
        )
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(4,))).permutation(n_rows)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _some(table: TableRows, plan: ColumnPlan, rows: IntArray | slice) -> tuple[pa.Table, FloatArray]:
    return named_inputs(table.X[rows], plan.feature_names), cast(FloatArray, table.y)[rows]


def _rules(model: CommitteeRegressor) -> list[str | Rule]:
    """All but NPAE, so that predictions may be asked of any, and the model's own."""
    return list(dict.fromkeys([*candidates(model.partition), model.aggregation_]))


def _check_files(data: Path, out: Path, checkpoint: Path | None) -> None:
    refuse_same_file("--out", out, {"DATA": data, "--checkpoint": checkpoint})
    if checkpoint is not None:
        refuse_same_file("--checkpoint", checkpoint, {"DATA": data})
    check_writable(out)


def _read(data: Path, columns: Columns, drop_missing: bool) -> tuple[ColumnPlan, TableRows]:
    source = open_table(data)
    plan = columns.plan(source)
    table = read_table(source, plan, drop_missing=drop_missing)
    require_rows(data, source, len(table.X), "to fit")
    warn_constant_dates(table.X, plan.feature_names, plan.date_features)
    return plan, table


def _save(model: CommitteeRegressor, out: Path, plan: ColumnPlan) -> None:
    """Without the settings that concern this run and this machine only."""
    model.set_params(verbose=0, checkpoint=None, n_jobs=None, memory_budget=None, engine=None)
    model.save(out, metadata={COLUMNS: plan.to_dict()})


def _table_line(data: Path, plan: ColumnPlan, table: TableRows) -> str:
    dropped = f" ({counted(table.n_dropped, 'incomplete row')} left out)" if table.n_dropped else ""
    return (
        f"Read {counted(len(table.X), 'row')} of {data.name}{dropped}: "
        f"{counted(len(plan.feature_names), 'feature')}, target {plan.target}."
    )


def _summary(model: CommitteeRegressor, plan: ColumnPlan, seconds: float) -> Iterator[tuple[str, str]]:
    yield "experts", _sizes(model.partition_.sizes)
    if model.kernel_scores_:
        yield "kernel", _chosen_kernel(model)
    yield "lengthscales", _lengthscales(model, plan)
    noise_std = model.scaling_.y_scale * np.sqrt(model.noise_variance_)
    yield "noise", f"standard deviation {noise_std:.4g} (variance {model.noise_variance_:.3g} of the target's)"
    if model.expert_variances_ is not None:
        yield "experts' own", _own(model.expert_variances_)
    if model.training_ is not None:
        yield (
            "training",
            f"{counted(model.training_.evaluations, 'evaluation')}, objective {model.training_.objective:.6g}",
        )
    if model.aggregation == AUTO:
        yield "aggregation", _chosen(model)
    if model.conformal_ is not None:
        held, deviations = counted(model.conformal_.n_rows, "row"), model.interval_half_width(0.95)
        yield "intervals", f"conformal, by {held} held out: 95% within {deviations:.3g} standard deviations"
    yield "time", duration(seconds)


def _chosen(model: CommitteeRegressor) -> str:
    """The rule that was chosen, and how all of them did, the best first."""
    scores = sorted(model.aggregation_scores_.items(), key=lambda item: item[1].nlpd)
    if not scores:
        return f"{model.aggregation_} (too few rows to hold any out)"
    lines: list[tuple[str, ...]] = [("", "SMSE", "MSLL", "coverage", "squared z")]
    for name, report in scores:
        numbers = (report.smse, report.msll, report.coverage, report.mean_squared_z)
        lines.append((name, *("undefined" if number is None else f"{number:.4g}" for number in numbers)))
    table = "\n".join(f"    {name:<14}" + "".join(f"{value:>11}" for value in values) for name, *values in lines)
    return f"{model.aggregation_}, by MSLL on {counted(scores[0][1].n_points, 'row')} held out\n{table}"


def _chosen_kernel(model: CommitteeRegressor) -> str:
    """The kernel that was chosen, and how all of them did, the best first."""
    scores = sorted(model.kernel_scores_.items(), key=lambda item: item[1].criterion)
    lines = [("", "objective", "criterion")]
    lines += [(name, f"{score.objective:.4f}", f"{score.criterion:.4f}") for name, score in scores]
    table = "\n".join(f"    {name:<20}" + "".join(f"{value:>11}" for value in values) for name, *values in lines)
    return (
        f"{model.kernel_name_}, by nats per row on {counted(scores[0][1].n_rows, 'row')}, the fewer the better\n{table}"
    )


def _own(own: OwnVariances) -> str:
    """Of the middle eight tenths of the experts."""
    ranges = [np.quantile(values[1:] if len(values) > 1 else values, (0.1, 0.9)) for values in (own.noise, own.signal)]
    noise, signal = (f"{low:.2g} to {high:.2g} times" for low, high in ranges)
    return f"noise variance {noise} that, signal variance {signal} the shared one (of eight experts in ten)"


def _sizes(sizes: IntArray) -> str:
    least = "" if sizes.min() == sizes.max() else f"{sizes.min():,} to "
    return f"{len(sizes)} with {least}{counted(sizes.max(), 'row')}; {sizes[0]:,} in the communication set"


def _lengthscales(model: CommitteeRegressor, plan: ColumnPlan) -> str:
    """The shortest ones, in the features' standard deviations, without constant columns, which have none."""
    name, values = next(item for item in model.hyperparameters_.items() if item[0].endswith("lengthscale"))
    learnt = np.flatnonzero(varying(model.committee_.X.numpy(force=True)))
    ordered = learnt[np.argsort(values.ravel()[learnt], kind="stable")]
    shortest = ordered[:MOST_LENGTHSCALES]
    bounds = getattr(model.training_, "at_bounds", ())
    listed = ", ".join(f"{plan.feature_names[i]} {_lengthscale(name, values.ravel(), i, bounds)}" for i in shortest)
    more = f" and {len(ordered) - len(shortest)} longer" if len(ordered) > len(shortest) else ""
    return f"{listed}{more} (in standard deviations)" if listed else "none: every feature is constant"


def varying(X: FloatArray) -> NDArray[np.bool_]:
    """Which standardised columns vary by more than rounding errors, shape (n_features,)."""
    spread: NDArray[np.bool_] = np.ptp(X, axis=0) > ROUNDING
    return spread


def _lengthscale(name: str, values: FloatArray, i: int, at_bounds: Collection[str]) -> str:
    """A value, or which bound of its search range it ended on; training starts between them, at 1."""
    parameter = f"{name}[{i}]" if len(values) > 1 else name
    if parameter not in at_bounds:
        return f"{values[i]:.3g}"
    return f"at its {'upper' if values[i] > 1 else 'lower'} bound"
