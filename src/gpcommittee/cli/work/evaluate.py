"""From a model and a table with the target to scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import typer

from gpcommittee._held_out import AUTO, is_auto
from gpcommittee.aggregation import Rule, make_rule
from gpcommittee.cli.work.model import NamedModel
from gpcommittee.cli.work.rows import require_rows
from gpcommittee.cli.work.talk import counted
from gpcommittee.data import ColumnPlan, open_table, read_table
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.records import FloatArray, Prediction

LABELS = {
    "smse": "SMSE",
    "msll": "MSLL",
    "rmse": "RMSE",
    "mae": "MAE",
    "nlpd": "NLPD",
    "crps": "CRPS",
    "coverage": "{level} coverage",
    "interval_width": "{level} width",
    "mean_squared_z": "mean squared z",
}
"""Rows of the table of scores."""

IN_TARGET_UNITS = {"rmse", "mae", "crps", "interval_width"}


@dataclass(frozen=True)
class Scores:
    """Scores of rules on one table.

    Attributes
    ----------
    model, data : str
        Paths.
    target : str
    n_points : int
    n_dropped : int
        Incomplete rows left out.
    level : float
        Probability of the interval that coverage and width are about.
    rules : mapping of str to ScoreReport
    conformal : mapping of str to dict
        Coverage and mean width of the conformal intervals of this level, of the rules that have them.
    """

    model: str
    data: str
    target: str
    n_points: int
    n_dropped: int
    level: float
    rules: Mapping[str, ScoreReport]
    conformal: Mapping[str, dict[str, float]]


def evaluate_table(
    named: NamedModel,
    data: Path,
    rules: Sequence[str] | None,
    *,
    target: str | None,
    level: float,
    drop_missing: bool,
    quiet: bool,
) -> Scores:
    """Score rules on a table, in one pass over the experts.

    Parameters
    ----------
    named : NamedModel
    data : pathlib.Path
        Table with the target.
    rules : sequence of str or None
        None for the model's own rule.
    target : str or None
        Instead of the model's target column.
    level : float
        Probability of the interval for coverage and width.
    drop_missing : bool
        Leave rows with missing values out.
    quiet : bool

    Raises
    ------
    GPCommitteeError
        If the table cannot be used.
    """
    if data.is_dir():
        raise InvalidInputError(f"'{data}' is a folder; evaluate scores one table. Give a file with at least one row.")
    plan = _with_target(named, target)
    source = open_table(data)
    table = read_table(source, plan, drop_missing=drop_missing)
    require_rows(data, source, len(table.X), "to score")
    chosen = _chosen(named.regressor, rules)
    named.regressor.set_params(verbose=0 if quiet else 1)
    predictions = named.regressor.predict_rules(named.inputs(table.X), list(chosen.values()))
    y = cast(FloatArray, table.y)
    reports = [_report(named.regressor, y, prediction, level) for prediction in predictions]
    scored = dict(zip(chosen, reports, strict=True))
    conformal = {
        name: _conformal(y, prediction, named.regressor.interval_half_width(level, chosen[name]))
        for name, prediction in zip(chosen, predictions, strict=True)
        if _is_conformal(named.regressor, chosen[name])
    }
    return Scores(str(named.path), str(data), str(plan.target), len(table.X), table.n_dropped, level, scored, conformal)


def print_scores(scores: Scores, *, as_json: bool) -> None:
    """The scores on standard output, as a table or as JSON."""
    typer.echo(scores_as_json(scores) if as_json else _as_text(scores))


def scores_as_json(scores: Scores) -> str:
    """All scores, every digit kept."""
    content = {**vars(scores), "rules": {name: _plain(report) for name, report in scores.rules.items()}}
    return json.dumps(content, indent=2)


def scores_as_table(rules: Mapping[str, ScoreReport], level: float, unit: str = "") -> str:
    """A metric in each row, a rule in each column; the unit of the target stands where a metric has it."""
    lines = [["", *rules]]
    for name, label in LABELS.items():
        values = [_number(getattr(report, name)) for report in rules.values()]
        suffix = f" ({unit})" if unit and name in IN_TARGET_UNITS else ""
        lines.append([label.format(level=_percent(level)) + suffix, *values])
    return _aligned(lines)


def coverage_as_table(rules: Mapping[str, ScoreReport]) -> str:
    """A level in each row, a rule in each column."""
    levels = zip(*(report.coverage_curve for report in rules.values()), strict=True)
    lines = [[_percent(points[0][0]), *(f"{100 * covered:.2f}%" for _, covered in points)] for points in levels]
    return _aligned([["", *rules], *lines])


def _as_text(scores: Scores) -> str:
    text = (
        f"{_heading(scores)}\n{scores_as_table(scores.rules, scores.level)}\n\n"
        f"Targets inside the central interval of each level:\n{coverage_as_table(scores.rules)}"
    )
    if not scores.conformal:
        return text
    measures = {"coverage": "coverage", "interval_width": "width"}
    lines = [
        [f"{_percent(scores.level)} {label}", *(_number(found[name]) for found in scores.conformal.values())]
        for name, label in measures.items()
    ]
    return f"{text}\n\nConformal intervals, as predict writes them:\n{_aligned([['', *scores.conformal], *lines])}"


def _is_conformal(regressor: CommitteeRegressor, rule: str | Rule) -> bool:
    if regressor.conformal_ is None:
        return False
    return make_rule(rule) in regressor.conformal_.rules


def _conformal(y: FloatArray, prediction: Prediction, deviations: float) -> dict[str, float]:
    half_width = deviations * np.sqrt(cast(FloatArray, prediction.var_noisy))
    return {
        "coverage": float(np.mean(np.abs(y - prediction.mean) <= half_width)),
        "interval_width": float(2 * half_width.mean()),
    }


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_row(line, widths) for line in lines)


def _plain(report: ScoreReport) -> dict[str, Any]:
    """Without what is the same for all rules."""
    return {name: value for name, value in report.to_dict().items() if name in {*LABELS, "coverage_curve"}}


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "  ".join([cells[0].ljust(widths[0]), *numbers])


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


def _with_target(named: NamedModel, target: str | None) -> ColumnPlan:
    plan = named.columns if target is None else replace(named.columns, target=target)
    if plan.target is None:
        raise InvalidParameterError(
            f"The model '{named.path}' does not know the name of its target. Name the column: --target COLUMN."
        )
    return plan


def _chosen(regressor: CommitteeRegressor, rules: Sequence[str] | None) -> dict[str, Any]:
    """Rules by the name they are shown with; "auto" stands for the model's own."""
    own = regressor.aggregation_
    wanted = [own if is_auto(rule) else rule for rule in ((AUTO,) if rules is None else rules)]
    return {rule if isinstance(rule, str) else type(rule).__name__: rule for rule in wanted}


def _report(regressor: CommitteeRegressor, y: FloatArray, prediction: Prediction, level: float) -> ScoreReport:
    scaling = regressor.scaling_
    y_train_var = scaling.y_scale**2 if regressor.committee_.y.any() else 0.0
    return score_report(
        y,
        prediction.mean,
        np.sqrt(cast(FloatArray, prediction.var_noisy)),
        y_train_mean=scaling.y_mean,
        y_train_var=y_train_var,
        level=level,
    )


def _heading(scores: Scores) -> str:
    dropped = f" ({counted(scores.n_dropped, 'incomplete row')} left out)" if scores.n_dropped else ""
    return f"{counted(scores.n_points, 'row')} of {scores.data}{dropped}, target {scores.target}:"
