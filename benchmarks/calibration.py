"""Intervals without calibration, by leave-one-out errors, and by held-out rows too; `make bench-calibration`.

Reads the data through GPCOMMITTEE_DATA and writes results/calibration.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.metrics import ScoreReport, score_report

RESULT = Path(__file__).parent / "results" / "calibration.md"
RULES = ("neighbourhood", "grbcm", "rbcm", "gpoe", "communication")
CALIBRATIONS: tuple[str | None, ...] = (None, "loo", "held_out")


@dataclass(frozen=True)
class Study:
    """A data set at one size, and the settings that are not the default."""

    rows: int | None
    test_rows: int | None
    settings: Mapping[str, object]


STUDIES = {
    "kin40k": Study(10_000, 4_000, {"n_experts": 16}),
    "sarcos": Study(None, None, {"expert_size": 500}),
    "geoid": Study(20_000, 4_000, {"kernel": "matern32", "expert_size": 500}),
    "geoid window": Study(None, 4_000, {"kernel": "matern32", "expert_size": 500}),
    "electric": Study(100_000, 4_000, {"expert_size": 500}),
}
"""Of sarcos only the test file is at hand, which is split."""


def run(data: RegressionData, settings: Mapping[str, object], seed: int) -> list[list[ScoreReport]]:
    """Scores by calibration and rule."""
    model = CommitteeRegressor(random_state=seed, **settings).fit(data.X_train, data.y_train)  # type: ignore[arg-type]
    return [scores(model.set_params(calibration=calibration), data) for calibration in CALIBRATIONS]


def scores(model: CommitteeRegressor, data: RegressionData) -> list[ScoreReport]:
    reports = []
    for prediction in model.predict_rules(data.X_test, RULES):
        assert prediction.var_noisy is not None
        reports.append(
            score_report(
                data.y_test,
                prediction.mean,
                np.sqrt(prediction.var_noisy),
                y_train_mean=float(data.y_train.mean()),
                y_train_var=float(data.y_train.var()),
            )
        )
    return reports


def lines(name: str, n_rows: int, reports: list[list[ScoreReport]]) -> list[str]:
    """One line of the table per rule."""
    found = []
    for rule, *of_rule in zip(RULES, *reports, strict=True):
        cells = [f"{of_rule[0].smse:.2g}"]
        for field, digits in (("msll", 3), ("mean_squared_z", 2), ("coverage", 3)):
            cells.append(" -> ".join(f"{getattr(report, field):.{digits}f}" for report in of_rule))
        found.append(f"| {name}, {n_rows:,} rows | {rule} | " + " | ".join(cells) + " |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = ["| data | rule | SMSE | MSLL | mean squared z | coverage of 95 % |", "|---|---|---|---|---|---|"]
    for name in arguments.data:
        study = STUDIES[name]
        data = load_rows(name, study.rows, study.test_rows, arguments.seed, None)
        found = lines(name, len(data.X_train), run(data, study.settings, arguments.seed))
        print("\n".join(found), flush=True)
        table += found
    text = (
        "# Calibration by leave-one-out errors and held-out rows\n\n"
        f"`make bench-calibration`: `CommitteeRegressor` with seed {arguments.seed}; 16 experts on kin40k, experts of "
        "500 rows elsewhere, Matérn-3/2 on the geoid; its window has every grid point between 30 S, 30 N, 0 and 90 E. "
        "Without calibration -> by leave-one-out errors -> by held-out rows too, the default; all from one fit.\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
