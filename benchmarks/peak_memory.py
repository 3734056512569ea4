"""Peak memory and time of a fit on 10^4 rows and a prediction of 10^6 rows by 16 experts, against the plan.

Run it as a process of its own: it reports the process's peak. Writes results/peak_memory.md, and fails above the limit.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _machine import provenance

from gpcommittee import CommitteeRegressor
from gpcommittee.errors import ConvergenceWarning
from gpcommittee.planning import Memory, Plan, plan_fit
from gpcommittee.records import FloatArray

RESULT = Path(__file__).parent / "results" / "peak_memory.md"
LIMIT = 2e9
NOISE = 0.1
RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of a unit of ru_maxrss."""


@dataclass(frozen=True)
class Stage:
    """What a stage took: peak bytes of the process so far, and seconds."""

    peak: float
    wall_seconds: float
    cpu_seconds: float


def measured(work: Callable[[], object]) -> Stage:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Stage(RSS_UNIT * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, wall, cpu)


def smooth_function(X: FloatArray) -> FloatArray:
    """Something to learn: waves along two directions."""
    values: FloatArray = np.sin(X[:, 0] + 0.5 * X[:, 1:].sum(axis=1)) + np.cos(X[:, :2].sum(axis=1))
    return values


def row(name: str, stage: Stage, memory: Memory, seconds: float, n_workers: int) -> str:
    parts = ", ".join(f"{part} {value / 1e6:,.0f}" for part, value in vars(memory).items() if value)
    return (
        f"| {name} | {stage.peak / 1e6:,.0f} | {memory.peak / 1e6:,.0f} ({parts}) | {stage.wall_seconds:,.0f} | "
        f"{stage.cpu_seconds / n_workers:,.0f} | {seconds:,.0f} |"
    )


def report(plan: Plan, fit: Stage, predict: Stage, evaluations: int) -> str:
    fit_seconds = plan.fit_seconds / plan.evaluations * evaluations
    rows = [
        row(f"fit, {evaluations} evaluations", fit, plan.fit_memory, fit_seconds, plan.n_workers),
        row(f"predict {plan.n_test:,} rows", predict, plan.predict_memory, plan.predict_seconds, plan.n_workers),
    ]
    verdict = "below" if predict.peak < LIMIT else "ABOVE"
    return (
        f"# Peak memory, {plan.n_rows:,} rows, {plan.n_features} inputs, {plan.n_experts} experts\n\n"
        f"`make bench-memory`: GRBCM, mean and standard deviation, {plan.n_workers} workers. The peak of the whole "
        f"process is {predict.peak / 1e9:.2f} GB, {verdict} the limit of {LIMIT / 1e9:.0f} GB.\n\n"
        "| stage | peak, MB | planned, MB | seconds | processor seconds per worker | planned |\n"
        "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
        f"The test rows, {8 * plan.n_test * plan.n_features / 1e6:,.0f} MB, are in memory during the fit too, which "
        "its plan leaves out. The plan's seconds are those of workers with a processor each: compare them with the "
        "processor seconds where the machine was shared. Matrix products: "
        f"{plan.machine_rate / 1e9:.0f} GFLOP/s for all workers together.\n\n"
        f"{provenance()}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--test-rows", type=int, default=1_000_000)
    parser.add_argument("--experts", type=int, default=16)
    parser.add_argument("--evaluations", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()

    generator = np.random.default_rng(0)
    X = generator.standard_normal((arguments.rows, arguments.features))
    y = smooth_function(X) + NOISE * generator.standard_normal(arguments.rows)
    X_test = generator.standard_normal((arguments.test_rows, arguments.features))
    settings = {
        "n_experts": arguments.experts,
        "max_evaluations": arguments.evaluations,
        "n_jobs": arguments.jobs,
        "training_experts": "all",
        "partition_metric": "standardised",
    }
    plan = plan_fit(arguments.rows, arguments.features, arguments.test_rows, **settings)
    model = CommitteeRegressor(**settings, random_state=0, verbose=1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    fit = measured(lambda: model.fit(X, y))
    predict = measured(lambda: model.predict(X_test, return_std=True))

    assert model.training_ is not None
    text = report(plan, fit, predict, model.training_.evaluations)
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)
    return int(predict.peak >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
