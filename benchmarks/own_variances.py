"""Variances of experts' own against shared ones, with and without calibration; `make bench-variances`.

Every fit is made once, with shared variances; the other takes its hyperparameters and its partition. Reads the data
through GPCOMMITTEE_DATA and writes results/own_variances.md.
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
from gpcommittee.records import FloatArray

RESULT = Path(__file__).parent / "results" / "own_variances.md"
RULES = ("grbcm", "entropy_gpoe")
CALIBRATIONS: tuple[str | None, ...] = (None, "loo")
HEAD = "| data | rule | calibration | SMSE | MSLL | difference | mean squared z | coverage of 95 % |\n|" + "---|" * 8


@dataclass(frozen=True)
class Study:
    """A data set at one size, and the settings that are not the default."""

    rows: int | None
    test_rows: int | None
    settings: Mapping[str, object]


STUDIES = {
    "growing noise": Study(6_000, 4_000, {}),
    "equal noise": Study(6_000, 4_000, {}),
    "kin40k": Study(10_000, 4_000, {}),
    "sarcos": Study(None, None, {}),
    "geoid": Study(20_000, 2_000, {"kernel": "matern32"}),
    "electric": Study(50_000, 4_000, {}),
}
"""Of sarcos only the test file is at hand, which is split. Noise that grows does so 16 times."""


@dataclass(frozen=True)
class Scored:
    """Scores of one rule, and the negative log density of every test row."""

    report: ScoreReport
    losses: FloatArray


def fits(data: RegressionData, settings: Mapping[str, object], seed: int) -> list[CommitteeRegressor]:
    """The fit with shared variances, and one with the experts' own around the same hyperparameters."""
    shared = CommitteeRegressor(random_state=seed, **settings).fit(data.X_train, data.y_train)  # type: ignore[arg-type]
    own = CommitteeRegressor(
        shared.kernel_,
        noise_variance=shared.noise_variance_,
        partition=shared.partition_.labels(),
        optimizer=None,
        expert_variances="own",
    )
    return [shared, own.fit(data.X_train, data.y_train)]


def scores(model: CommitteeRegressor, data: RegressionData) -> list[Scored]:
    """One for each rule."""
    found = []
    for prediction in model.predict_rules(data.X_test, RULES):
        assert prediction.var_noisy is not None
        std = np.sqrt(prediction.var_noisy)
        mean, variance = float(data.y_train.mean()), float(data.y_train.var())
        report = score_report(data.y_test, prediction.mean, std, y_train_mean=mean, y_train_var=variance)
        losses = np.log(std) + 0.5 * ((data.y_test - prediction.mean) / std) ** 2
        found.append(Scored(report, losses))
    return found


def lines(name: str, data: RegressionData, settings: Mapping[str, object], seed: int) -> list[str]:
    """One line of the table per rule and calibration."""
    models, found = fits(data, settings, seed), []
    for calibration in CALIBRATIONS:
        both = [scores(model.set_params(calibration=calibration), data) for model in models]
        for rule, shared, own in zip(RULES, *both, strict=True):
            change = own.losses - shared.losses
            cells = [f"{shared.report.smse:.5f} -> {own.report.smse:.5f}"]
            cells += [f"{shared.report.msll:.3f} -> {own.report.msll:.3f}"]
            cells += [f"{change.mean():+.3f} ± {change.std() / np.sqrt(len(change)):.3f}"]
            for field, digits in (("mean_squared_z", 2), ("coverage", 3)):
                values = (getattr(scored.report, field) for scored in (shared, own))
                cells.append(" -> ".join(f"{value:.{digits}f}" for value in values))
            label = f"{name}, {len(data.X_train):,} rows, seed {seed}"
            found.append(f"| {label} | {rule} | {calibration or 'none'} | " + " | ".join(cells) + " |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = [HEAD]
    print(HEAD, flush=True)
    for seed in arguments.seeds:
        for name in arguments.data:
            study = STUDIES[name]
            data = load_rows(name, study.rows, study.test_rows, seed, None)
            found = lines(name, data, study.settings, seed)
            print("\n".join(found), flush=True)
            table += found
    text = (
        "# Variances of experts' own\n\n"
        "`make bench-variances`: `CommitteeRegressor` with default sizes, Matérn-3/2 on the geoid. "
        '`expert_variances="shared"` -> `"own"`, around the same hyperparameters and on the same partition. The '
        "difference is that of the negative log density per test row, with its standard error over rows; below 0, "
        "own variances are better.\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
