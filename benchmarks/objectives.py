"""Factorised against conditional training: accuracy of GRBCM and processor time of the fit, on one thread.

Reads the data through GPCOMMITTEE_DATA. Every run is appended to results/objectives.jsonl when it ends, and not done
again; results/objectives.md is made from all of them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from gpcommittee import CommitteeRegressor
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import score_report
from gpcommittee.training import OBJECTIVES

RESULTS = Path(__file__).parent / "results"
TEST_ROWS = 5_000
COLUMNS = {"SMSE": "smse", "MSLL": "msll", "mean squared z": "z2", "coverage of 95 %": "cov"}
Run = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A data set and the settings that are not the defaults."""

    title: str
    data: str
    rows: int | None
    settings: dict[str, Any] = field(default_factory=dict)


CASES = {
    "kin40k": Case("kin40k, 10,000 rows", "kin40k", 10_000, {"expert_size": 500}),
    "kin40k1000": Case(
        "kin40k, communication set of 1,000, 12 experts",
        "kin40k",
        10_000,
        {"communication_size": 1000, "n_experts": 12},
    ),
    "kin40k2000": Case(
        "kin40k, communication set of 2,000, 11 experts",
        "kin40k",
        10_000,
        {"communication_size": 2000, "n_experts": 11},
    ),
    "sarcos": Case("sarcos' test file, 4,000 rows", "sarcos", None, {"expert_size": 500}),
    "geoid": Case("geoid, 20,000 rows, Matérn-3/2", "geoid", 20_000, {"kernel": "matern32", "expert_size": 500}),
    "electric": Case("electric, 50,000 rows", "electric", 50_000, {"expert_size": 500}),
}


def run(name: str, seed: int, objective: str) -> Run:
    case = CASES[name]
    data = load_rows(case.data, case.rows, TEST_ROWS, seed, None)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model = CommitteeRegressor(objective=objective, random_state=seed, n_jobs=1, **case.settings)
        model.fit(data.X_train, data.y_train)
    seconds = time.process_time() - start
    mean, std = model.predict(data.X_test, return_std=True)
    moments = {"y_train_mean": float(data.y_train.mean()), "y_train_var": float(data.y_train.var())}
    report = score_report(data.y_test, mean, std, **moments)
    return {
        "case": name,
        "seed": seed,
        "objective": objective,
        "smse": report.smse,
        "msll": report.msll,
        "z2": report.mean_squared_z,
        "cov": report.coverage,
        "cpu": seconds,
        "evals": model.training_.evaluations,
        "stages": [(stage.n_experts, stage.evaluations, stage.loss) for stage in model.training_.stages],
        "noise": model.noise_variance_,
    }


def table(runs: list[Run]) -> str:
    lines = [
        f"| data | objective | {' | '.join(COLUMNS)} | evaluations | processor seconds | seeds |",
        "|---" * (len(COLUMNS) + 5) + "|",
    ]
    for name, case in CASES.items():
        for objective in OBJECTIVES:
            if of_both := [r for r in runs if (r["case"], r["objective"]) == (name, objective)]:
                means = {key: np.mean([r[key] for r in of_both]) for key in (*COLUMNS.values(), "evals", "cpu")}
                cells = [f"{means[key]:.4f}" for key in COLUMNS.values()]
                cells += [f"{means['evals']:.0f}", f"{means['cpu']:.0f}", str(len(of_both))]
                lines.append(f"| {case.title} | {objective} | {' | '.join(cells)} |")
    return "\n".join(lines)


def stored(path: Path) -> list[Run]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    arguments = parser.parse_args()
    path = RESULTS / "objectives.jsonl"
    for case, seed, objective in ((c, s, o) for c in arguments.cases for s in arguments.seeds for o in OBJECTIVES):
        if not any((r["case"], r["seed"], r["objective"]) == (case, seed, objective) for r in stored(path)):
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(run(case, seed, objective)) + "\n")
    text = (
        "# Factorised against conditional training\n\n`make bench-objectives`: GRBCM with the library's defaults but "
        f"for what is said, on {TEST_ROWS:,} test rows, or all where there are fewer; means over seeds. Processor "
        "seconds are those of the fit on one thread, on a machine that may have had other work.\n\n"
        f"{table(stored(path))}\n\n{provenance()}\n"
    )
    (RESULTS / "objectives.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
