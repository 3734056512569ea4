"""All of electric: accuracy, time, memory, and what the plan said; `make bench-electric`.

With the library's defaults. Reads the data through GPCOMMITTEE_DATA and writes results/electric.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._memory import GIBIBYTE, forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import Elapsed, timed
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.planning import Plan, plan_fit

RESULT = Path(__file__).parent / "results" / "electric.md"
TRAIN_ROWS = 1_800_000

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
) -> str:
    """The result."""
    n_jobs = model.n_jobs or 1
    said = ", ".join(f"{name}={value}" for name, value in settings.items())
    stages = " -> ".join(str(stage.n_experts) for stage in model.training_.stages) if model.training_ else "none"
    return "\n".join(
        [
            "# All of electric\n",
            f"`make bench-electric`: `CommitteeRegressor({said})` "
            f"on {len(data.X_train):,} rows of {data.X_train.shape[1]} inputs, {len(data.X_test):,} held out. "
            f"Planned at {plan.machine_rate / 1e9:.0f} GFLOP/s, measured before the fit.\n",
            "<!-- table -->\n",
            "| what | processor seconds | planned | minutes by the clock | planned | peak, GiB | planned |",
            "|---|---|---|---|---|---|---|",
            line("fit, calibration included", fit, plan.fit_seconds, plan.fit_memory.peak, n_jobs),
            line("predictions", predict, plan.predict_seconds, plan.predict_memory.peak, n_jobs),
            f"\nKernel {model.kernel_name_}, chosen among {len(model.kernel_scores_)}; {model.committee_.n_experts:,} "
            f"experts, of which training used {stages}. SMSE {report.smse:.5f}, MSLL {report.msll:.3f}, mean squared z "
            f"{report.mean_squared_z:.2f}, coverage of the 95 % interval {report.coverage:.3f}.\n",
            f"{provenance()}\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=TRAIN_ROWS)
    parser.add_argument("--test-rows", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory-budget", type=float, default=6.0)
    arguments = parser.parse_args()
    data = load_rows("electric", arguments.rows, arguments.test_rows, 0, None)
    settings: dict[str, Any] = {"n_jobs": arguments.jobs, "memory_budget": arguments.memory_budget}
    plan = plan_fit(len(data.X_train), data.X_train.shape[1], len(data.X_test), **settings)
    settings["random_state"] = 0
    regressor = CommitteeRegressor(verbose=1, **settings)
    model, fit = measured(lambda: regressor.fit(data.X_train, data.y_train))
    (mean, std), predict = measured(lambda: model.predict(data.X_test, return_std=True))
    moments = {"y_train_mean": float(data.y_train.mean()), "y_train_var": float(data.y_train.var())}
    report = score_report(data.y_test, mean, std, **moments)
    text = page(data, model, settings, report, plan, fit, predict)
    print(text)
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
