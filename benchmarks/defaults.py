"""The library's defaults against the paper's configuration, on real and made data; `make bench-defaults`.

Reads the data through GPCOMMITTEE_DATA and writes results/defaults.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._outcome import fit_and_score
from benchmarks._synthetic import FAMILIES
from gpcommittee import CommitteeRegressor, paper_committee

RESULT = Path(__file__).parent / "results" / "defaults.md"
COLUMNS = ("SMSE", "MSLL", "mean squared z", "coverage of 95 %", "processor seconds")
DIGITS = (4, 3, 2, 3, 0)
EXPERT_SIZE = 625
"""Rows per expert of the paper's configuration, as on its kin40k."""


@dataclass(frozen=True)
class Study:
    """Rows of a data set, None for all."""

    rows: int | None
    test_rows: int | None = None


STUDIES = {
    "kin40k": Study(10_000),
    "sarcos": Study(None),
    "geoid": Study(50_000, 10_000),
    "electric": Study(100_000, 10_000),
    **{name: Study(10_000, 10_000) for name in FAMILIES},
}
"""Of sarcos only the test file is at hand, which is split."""


def defaults(n_rows: int, seed: int) -> CommitteeRegressor:
    return CommitteeRegressor(random_state=seed, n_jobs=1)


def paper(n_rows: int, seed: int) -> CommitteeRegressor:
    model = paper_committee(round(n_rows / EXPERT_SIZE), random_state=seed)
    model.set_params(n_jobs=1)
    return model


CONFIGURATIONS: dict[str, Callable[[int, int], CommitteeRegressor]] = {"paper": paper, "defaults": defaults}


def run(name: str, configuration: str, seed: int) -> tuple[list[float], str]:
    """Measures of one fit and its predictions, in the order of ``COLUMNS``, and the kernel."""
    study = STUDIES[name]
    data = load_rows(name, study.rows, study.test_rows, seed, None)
    outcome = fit_and_score(CONFIGURATIONS[configuration](len(data.X_train), seed), data)
    report = outcome.report
    assert report.smse is not None
    assert report.msll is not None
    seconds = outcome.fit_seconds + outcome.predict_seconds
    return [report.smse, report.msll, report.mean_squared_z, report.coverage, seconds], outcome.model.kernel_name_


def line(name: str, configuration: str, measures: np.ndarray) -> str:
    """One line of the table: means over seeds, with the standard deviations of the scores."""
    cells = []
    for column, digits in enumerate(DIGITS):
        values = measures[:, column]
        spread = (
            f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 and COLUMNS[column] in ("SMSE", "MSLL") else ""
        )
        cells.append(f"{values.mean():.{digits}f}{spread}")
    rows = STUDIES[name].rows
    label = f"{name}, {rows:,} rows" if rows else f"{name}, all rows"
    return f"| {label} | {configuration} | {len(measures)} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--out", type=Path, default=RESULT, help="another page, for some of the data")
    arguments = parser.parse_args()
    table = [
        "| data | configuration: kernel | seeds | " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * (3 + len(COLUMNS)),
    ]
    for name in arguments.data:
        for configuration in CONFIGURATIONS:
            found = [run(name, configuration, seed) for seed in range(arguments.seeds)]
            kernels = ", ".join(dict.fromkeys(kernel for _, kernel in found))
            table.append(line(name, f"{configuration}: {kernels}", np.array([measures for measures, _ in found])))
            print(table[-1], flush=True)
    text = (
        "# Defaults against the paper's configuration\n\n"
        f"`make bench-defaults`, one thread. The paper's configuration has experts of {EXPERT_SIZE} rows and the "
        "squared exponential kernel; by default the training chooses the kernel. Made data are "
        "drawn anew for each seed.\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + f"\n\n{provenance()}\n"
    )
    arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
