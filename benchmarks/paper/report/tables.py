"""Tables of scores."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from benchmarks.paper.report.page import table
from benchmarks.paper.report.results import METHODS, in_order, published

SCORES = {
    "smse": "SMSE",
    "msll": "MSLL",
    "coverage": "coverage of 95 %",
    "mean_squared_z": "mean squared z",
}
TIMES = {"fit_cpu_s": "fit, CPU s", "predict_cpu_s": "predict, CPU s"}
DIGITS = {"fit_cpu_s": 1, "predict_cpu_s": 1, "time_s": 1}


def number(value: float, digits: int = 4) -> str:
    """A number with so many decimals, two fewer from 10 on and three fewer from 1,000 on."""
    fewer = 0 if abs(value) < 10 else 2 if abs(value) < 1000 else 3
    return f"{value:.{max(digits - fewer, min(digits, 1))}f}"


def spread(values: pd.Series, digits: int = 4) -> str:
    """Mean, and standard deviation where there is more than one value."""
    mean = number(float(values.mean()), digits)
    return mean if len(values) < 2 else f"{mean} ± {number(float(values.std()), digits)}"


def scores_table(scores: pd.DataFrame, by: Sequence[str] = (), names: Sequence[str] = ()) -> str:
    """Mean ± standard deviation of every method, for each value of the columns ``by`` (headed ``names``)."""
    columns = SCORES | TIMES
    rows = []
    for values, group in scores.groupby(list(by), sort=True) if by else [((), scores)]:
        for method in in_order(group["method"]):
            of_method = group[group["method"] == method]
            cells = [spread(of_method[column], DIGITS.get(column, 4)) for column in columns]
            rows.append([METHODS[method], *(_key(value) for value in values), str(len(of_method)), *cells])
    return table(["method", *names, "runs", *columns.values()], rows)


def comparison_table(scores: pd.DataFrame, dataset: str, source: str) -> str:
    """Ours, the paper's, and the difference, for every number of one of its tables."""
    rows = []
    for line in published(dataset, source).itertuples():
        digits = DIGITS.get(line.metric, 4)
        paper = number(line.mean, digits) + ("" if pd.isna(line.std) else f" ± {number(line.std, digits)}")
        column = "total_wall_s" if line.metric == "time_s" else line.metric
        ours = scores.loc[scores["method"] == line.method, column]
        label = f"{METHODS[line.method]}, {'time [s]' if line.metric == 'time_s' else SCORES[line.metric]}"
        if ours.empty:
            rows.append([label, "not run", paper, ""])
        else:
            rows.append([label, spread(ours, digits), paper, number(float(ours.mean()) - line.mean, digits)])
    return table([source, "ours", "paper", "difference"], rows)


def made_with(scores: pd.DataFrame) -> str:
    """Machines, versions, threads and matrix-product rates behind the results of a page."""
    machines = sorted(
        {
            f"{row.machine_cpu}, {row.machine_cores} cores, {row.machine_memory_gib} GiB, {row.n_jobs} worker thread(s)"
            for row in scores.itertuples()
        }
    )
    versions = [json.loads(text) for text in sorted(set(scores["versions"]))]
    commits = sorted({version.pop("commit") for version in versions})
    libraries = sorted({", ".join(f"{name} {version}" for name, version in one.items()) for one in versions})
    rates = scores["dgemm_gflops"]
    return (
        "Made with: " + "; ".join(machines) + ". " + "; ".join(libraries) + f". Source {', '.join(commits)}. Matrix "
        f"products at the time of the runs: {rates.min():.0f} to {rates.max():.0f} GFlop/s on one thread; times "
        "are comparable only within a page, and a shared machine stretches them."
    )


def _key(value: object) -> str:
    return f"{int(value):,}" if isinstance(value, int | float) else str(value)
