"""NPAE over a few experts at each test point against GRBCM, on four data sets; `make bench-nested`.

One fit per data set with the library's defaults; every rule predicts the same rows from the same factors, with and
without calibration. Reads the data through GPCOMMITTEE_DATA and writes results/nested.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks.communication import STUDIES
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import GRBCM, NPAE, MostCertain, Rule
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import ScoreReport, score_report

RESULT = Path(__file__).parent / "results" / "nested.md"
COUNTS = (2, 4, 8)
TIMED_ROWS = 2_000
RULES: dict[str, Rule] = {
    "grbcm": GRBCM(),
    "most_certain": MostCertain(),
    **{f"NPAE, own rows, {k}": NPAE(n_experts=k) for k in COUNTS},
    **{f"NPAE, augmented, {k}": NPAE(n_experts=k, augmented=True) for k in COUNTS},
}


def scores(model: CommitteeRegressor, data: RegressionData) -> list[ScoreReport]:
    """Of every rule, in one pass."""
    return [
        score_report(
            data.y_test,
            prediction.mean,
            np.sqrt(prediction.var_noisy),
            y_train_mean=float(data.y_train.mean()),
            y_train_var=float(data.y_train.var()),
        )
        for prediction in model.predict_rules(data.X_test, list(RULES.values()))
    ]


def seconds_of_each(model: CommitteeRegressor, data: RegressionData) -> list[float]:
    """Processor time of a prediction of the first rows by each rule alone, with factors at hand."""
    found = []
    for rule in RULES.values():
        model.predict(data.X_test[:1], return_std=True, aggregation=rule)
        start = time.process_time()
        model.predict(data.X_test[:TIMED_ROWS], return_std=True, aggregation=rule)
        found.append(time.process_time() - start)
    return found


def lines(
    name: str, plain: Sequence[ScoreReport], calibrated: Sequence[ScoreReport], seconds: list[float]
) -> list[str]:
    found = []
    for rule, without, with_, spent in zip(RULES, plain, calibrated, seconds, strict=True):
        cells = [f"{without.smse:.4f}"]
        for field, digits in (("msll", 3), ("mean_squared_z", 2), ("coverage", 3)):
            cells.append(f"{getattr(without, field):.{digits}f} -> {getattr(with_, field):.{digits}f}")
        found.append(f"| {name} | {rule} | {' | '.join(cells)} | {spent:.1f} |")
    return found


def run(name: str, seed: int) -> list[str]:
    study = STUDIES[name]
    data = load_rows(name, study.rows, study.test_rows, seed, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model = CommitteeRegressor(study.kernel, random_state=seed, n_jobs=1).fit(data.X_train, data.y_train)
        seconds, calibrated = seconds_of_each(model, data), scores(model, data)
        plain = scores(model.set_params(calibration=None), data)
    title = f"{name}, {len(data.X_train):,} rows, {model.partition_.n_experts} experts"
    return lines(title, plain, calibrated, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = [
        "| data | rule | SMSE | MSLL | mean squared z | coverage of 95 % | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in arguments.data:
        found = run(name, arguments.seed)
        print("\n".join(found), flush=True)
        table += found
    text = (
        "# NPAE over a few experts at each test point\n\n"
        f"`make bench-nested`: `CommitteeRegressor` with seed {arguments.seed}, Matérn-3/2 on the geoid, 4,000 test "
        "rows, of sarcos all. Without calibration -> with it, from one fit. Seconds: processor time of the prediction "
        f"of {TIMED_ROWS:,} rows at most by one rule on one thread, its factors at hand.\n\n<!-- table -->\n\n"
        + "\n".join(table)
        + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
