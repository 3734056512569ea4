"""What the nearest experts of a test point say, against all of them; `make bench-nearest`.

One fit per data set; every number of experts predicts the same rows from the same factors. Reads the data through
GPCOMMITTEE_DATA and writes results/nearest.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import score_report
from gpcommittee.records import FloatArray

RESULT = Path(__file__).parent / "results" / "nearest.md"
COLUMNS = ("SMSE", "MSLL", "mean squared z", "coverage of 95 %", "ms a point", "change of the mean, 99 % and largest")
NUMBERS: tuple[int | str, ...] = (8, 16, 32, 64, "all")


@dataclass(frozen=True)
class Study:
    """A data set at one size, and the settings that are not the default."""

    rows: int | None
    settings: Mapping[str, object]


STUDIES = {
    "geoid": Study(100_000, {"kernel": "matern32", "expert_size": 500}),
    "electric": Study(100_000, {"expert_size": 500}),
    "kin40k": Study(10_000, {"expert_size": 100, "communication_size": 500}),
}
"""kin40k in experts far smaller than the default, so that there are many."""

TEST_ROWS = 4_000


def predicted(
    model: CommitteeRegressor, data: RegressionData, nearest: int | str
) -> tuple[FloatArray, FloatArray, float]:
    """Mean, standard deviation, and processor time per point with the factors at hand."""
    model.set_params(nearest_experts=nearest)
    start = time.process_time()
    mean, std = model.predict(data.X_test, return_std=True)
    return mean, std, (time.process_time() - start) / len(mean)


def lines(name: str, model: CommitteeRegressor, data: RegressionData) -> list[str]:
    """One line of the table per number of experts."""
    model.set_params(nearest_experts="all").predict(data.X_test[:1], return_std=True)
    full, deviation, _ = predicted(model, data, "all")
    found = []
    for nearest in NUMBERS:
        mean, std, seconds = predicted(model, data, nearest)
        moments = {"y_train_mean": float(data.y_train.mean()), "y_train_var": float(data.y_train.var())}
        report = score_report(data.y_test, mean, std, **moments)
        change = np.abs(mean - full) / deviation
        cells = [
            f"{report.smse:.2g}",
            f"{report.msll:.3f}",
            f"{report.mean_squared_z:.2f}",
            f"{report.coverage:.3f}",
            f"{1e3 * seconds:.2f}",
            f"{np.quantile(change, 0.99):.1e}, {change.max():.1e}",
        ]
        title = f"{name}, {len(data.X_train):,} rows, {model.partition_.n_experts} experts"
        found.append(f"| {title} | {nearest} | " + " | ".join(cells) + " |")
    return found


def run(name: str, seed: int) -> list[str]:
    study = STUDIES[name]
    data = load_rows(name, study.rows, TEST_ROWS, seed, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model = CommitteeRegressor(random_state=seed, n_jobs=1, calibration="loo", **study.settings)  # type: ignore[arg-type]
        return lines(name, model.fit(data.X_train, data.y_train), data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = ["| data | nearest experts | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (2 + len(COLUMNS))]
    for name in arguments.data:
        found = run(name, arguments.seed)
        print("\n".join(found), flush=True)
        table += found
    text = (
        "# The nearest experts of a test point against all\n\n"
        f"`make bench-nearest`: GRBCM, seed {arguments.seed}, one thread, {TEST_ROWS:,} test rows, calibration by "
        "leave-one-out errors alone; processor time with the factors at hand. The change is in predicted standard "
        "deviations.\n\n<!-- table -->\n\n" + "\n".join(table) + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
