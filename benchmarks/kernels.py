"""`kernel="auto"`, the default, against the paper's kernel and the chosen one by its name; `make bench-kernels`.

Reads the data through GPCOMMITTEE_DATA and writes results/kernels.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._outcome import Outcome, fit_and_score
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData

RESULT = Path(__file__).parent / "results" / "kernels.md"
AUTO, PAPER = "auto", "squared_exponential"
HEAD = "| data | kernel | nats per row | SMSE | MSLL | mean squared z | coverage of 95 % | CPU s of the fit |"


@dataclass(frozen=True)
class Study:
    """A data set at one size; None for all rows."""

    rows: int | None
    test_rows: int | None


STUDIES = {
    "kin40k": Study(10_000, 10_000),
    "sarcos": Study(None, None),
    "geoid": Study(20_000, 5_000),
    "electric": Study(50_000, 5_000),
}
"""Of sarcos only the test file is at hand, which is split."""


def run(data: RegressionData, kernel: str, seed: int) -> Outcome:
    return fit_and_score(CommitteeRegressor(kernel, random_state=seed, n_jobs=1), data)


def line(name: str, kernel: str, outcome: Outcome, compared: CommitteeRegressor) -> str:
    """One line of the table; the objective is that of the comparison."""
    model, report = outcome.model, outcome.report
    shown = f"auto: {model.kernel_name_}" if kernel == AUTO else kernel
    objective = compared.kernel_scores_[model.kernel_name_].objective
    return (
        f"| {name}, {len(model.committee_.y):,} rows | {shown} | {objective:.3f} | {report.smse:.5f} | "
        f"{report.msll:.3f} | {report.mean_squared_z:.2f} | {report.coverage:.3f} | {outcome.fit_seconds:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = [HEAD, "|---|---|---|---|---|---|---|---|"]
    for name in arguments.data:
        study = STUDIES[name]
        data = load_rows(name, study.rows, study.test_rows, arguments.seed, None)
        auto = run(data, AUTO, arguments.seed)
        for kernel in dict.fromkeys((AUTO, PAPER, auto.model.kernel_name_)):
            outcome = auto if kernel == AUTO else run(data, kernel, arguments.seed)
            table.append(line(name, kernel, outcome, auto.model))
            print(table[-1], flush=True)
    text = (
        "# The chosen kernel and the paper's\n\n"
        f"`make bench-kernels`: `CommitteeRegressor` with its defaults and seed {arguments.seed}, one thread. Nats per "
        "row: what the comparison of `auto` found, less is better. The chosen kernel by its name, without the "
        "comparison, stands beside it.\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
