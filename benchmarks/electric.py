"""All of electric: accuracy, time, memory, and what the plan said; `make bench-electric`.

With the library's defaults; with ``--tolerance``, all of many small experts at every point to that tolerance, and what
it changes. Reads the data through GPCOMMITTEE_DATA and writes results/electric.md or results/electric_tolerance.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._memory import GIBIBYTE, forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import Elapsed, timed
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.planning import Plan, plan_fit
from gpcommittee.records import FloatArray

RESULTS = Path(__file__).parent / "results"
TRAIN_ROWS = 1_800_000

TO_TOLERANCE: dict[str, Any] = {"expert_size": 250, "communication_size": 250, "memory_budget": 8.0}
"""Experts small enough for the factors of all of them to be kept."""

COMPARED = 500
"""Test rows at which every expert is summed as well."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Taken:
    """What a step took: time, and peak memory in GiB, the data included."""

    time: Elapsed
    peak: float


def measured(step: Callable[[], Value]) -> tuple[Value, Taken]:
    """The value of a step and what it took."""
    forget_peak_memory()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        value, elapsed = timed(step)
    return value, Taken(elapsed, peak_memory_gib() or float("nan"))


def line(what: str, taken: Taken, seconds: float, peak: float, n_jobs: int) -> str:
    """One line of the table; the plan's seconds are by the clock of an idle machine."""
    return (
        f"| {what} | {taken.time.cpu:.0f} | {seconds * n_jobs:.0f} | {taken.time.wall / 60:.1f} | {seconds / 60:.1f} | "
        f"{taken.peak:.1f} | {peak / GIBIBYTE:.1f} |"
    )


def page(
    data: RegressionData,
    model: CommitteeRegressor,
    settings: Mapping[str, Any],
    report: ScoreReport,
    plan: Plan,
    fit: Taken,
    predict: Taken,
    remark: str,
) -> str:
    """The result."""
    n_jobs = model.n_jobs or 1
    to_tolerance = f' ELECTRIC_ARGS="--tolerance {settings["tolerance"]:g}"' if "tolerance" in settings else ""
    command = f"make bench-electric{to_tolerance}"
    said = ", ".join(f"{name}={value}" for name, value in settings.items())
    stages = " -> ".join(str(stage.n_experts) for stage in model.training_.stages) if model.training_ else "none"
    return "\n".join(
        [
            "# All of electric\n",
            f"`{command}`: `CommitteeRegressor({said})` "
            f"on {len(data.X_train):,} rows of {data.X_train.shape[1]} inputs, {len(data.X_test):,} held out. "
            f"Planned at {plan.machine_rate / 1e9:.0f} GFLOP/s, measured before the fit.\n",
            "<!-- table -->\n",
            "| what | processor seconds | planned | minutes by the clock | planned | peak, GiB | planned |",
            "|---|---|---|---|---|---|---|",
            line("fit, calibration included", fit, plan.fit_seconds, plan.fit_memory.peak, n_jobs),
            line("predictions", predict, plan.predict_seconds, plan.predict_memory.peak, n_jobs),
            f"\nKernel {model.kernel_name_}, chosen among {len(model.kernel_scores_)}; {model.committee_.n_experts:,} "
            f"experts, of which training used {stages}. SMSE {report.smse:.5f}, MSLL {report.msll:.3f}, mean squared z "
            f"{report.mean_squared_z:.2f}, coverage of the 95 % interval {report.coverage:.3f}.{remark}\n",
            f"{provenance()}\n",
        ]
    )


def changed(model: CommitteeRegressor, data: RegressionData, mean: FloatArray, std: FloatArray) -> str:
    """What the tolerance changed at some test rows."""
    rows = np.random.default_rng(0).choice(len(mean), min(COMPARED, len(mean)), replace=False)
    every, every_std = model.set_params(tolerance=0.0, nearest_experts="all").predict(
        data.X_test[rows], return_std=True
    )
    moved = (np.abs(mean[rows] - every) / every_std).max()
    scaled = np.abs(np.square(std[rows] / every_std) - 1).max()
    return (
        f" Against the sum over all experts at {len(rows)} of these rows, the mean changed by {moved:.1e} standard "
        f"deviations of an observation at most, the variance by {scaled:.1e} of itself."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=TRAIN_ROWS)
    parser.add_argument("--test-rows", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory-budget", type=float, default=6.0)
    parser.add_argument("--tolerance", type=float, default=0.0)
    arguments = parser.parse_args()
    data = load_rows("electric", arguments.rows, arguments.test_rows, 0, None)
    settings: dict[str, Any] = {"n_jobs": arguments.jobs, "memory_budget": arguments.memory_budget}
    if arguments.tolerance > 0:
        settings |= {**TO_TOLERANCE, "tolerance": arguments.tolerance}
    plan = plan_fit(len(data.X_train), data.X_train.shape[1], len(data.X_test), **settings)
    settings["random_state"] = 0
    regressor = CommitteeRegressor(verbose=1, **settings)
    model, fit = measured(lambda: regressor.fit(data.X_train, data.y_train))
    (mean, std), predict = measured(lambda: model.predict(data.X_test, return_std=True))
    moments = {"y_train_mean": float(data.y_train.mean()), "y_train_var": float(data.y_train.var())}
    report = score_report(data.y_test, mean, std, **moments)
    remark = changed(model, data, mean, std) if arguments.tolerance > 0 else ""
    text = page(data, model, settings, report, plan, fit, predict, remark)
    print(text)
    name = "electric_tolerance.md" if arguments.tolerance > 0 else "electric.md"
    (RESULTS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
