"""The defaults on UCI sets in their published splits, beside published figures; `make bench-uci`.

Reads the data through GPCOMMITTEE_DATA. Every run is stored when it ends, in a folder beside the page and of its name
(results/uci/), and not done again; the page, results/uci.md, is made anew from all stored runs after each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._child import ChildError, ask_child
from benchmarks._machine import provenance
from benchmarks._uci import N_SPLITS, NAMES, load_uci, standardised
from benchmarks._uci_published import BEST, LEGEND, OTHERS, shown
from gpcommittee.datasets import RegressionData
from gpcommittee.metrics import score_report
from gpcommittee.records import FloatArray

PAGE = Path(__file__).parent / "results" / "uci.md"
COLUMNS = {
    "rmse": ("RMSE", 4),
    "nll": ("NLL", 3),
    "coverage": ("coverage of 95 %", 3),
    "mean_squared_z": ("mean squared z", 2),
    "fit_cpu_s": ("fit, CPU s", 0),
    "predict_cpu_ms": ("CPU ms a point", 2),
    "peak_memory_gib": ("peak, GiB", 2),
}
"""Heading and decimals of the means over splits."""

SCORES_WITH_SPREAD = ("rmse", "nll")
HEAD = (
    "data, training rows",
    "kernel",
    "splits",
    *(heading for heading, _ in COLUMNS.values()),
    "best published RMSE / NLL",
    "others",
)
Run = dict[str, Any]


def scores(y_test: FloatArray, mean: FloatArray, std: FloatArray) -> dict[str, float]:
    """Scores on the standardised target, NLL in nats per row."""
    report = score_report(y_test, mean, std, y_train_mean=0.0, y_train_var=1.0)
    return {
        "rmse": report.rmse,
        "nll": report.nlpd,
        "coverage": report.coverage,
        "mean_squared_z": report.mean_squared_z,
    }


def fit_split(data: RegressionData, split: int) -> Run:
    """Fit and predict in a process of its own.

    Raises
    ------
    ChildError
        If it fails.
    """
    arrays = {"X": data.X_train, "y": data.y_train, "X_test": data.X_test}
    answer = ask_child("benchmarks._uci_child", {"seed": split}, arrays)
    mean, std = answer.pop("mean"), answer.pop("std")
    return {
        "data": data.name,
        "split": split,
        "n_train": len(data.X_train),
        "n_test": len(data.X_test),
        **scores(data.y_test, mean, std),
        **answer,
        "predict_cpu_ms": 1e3 * answer["predict_cpu_s"] / len(data.X_test),
        "provenance": provenance(),
    }


def stored_file(page: Path, name: str, split: int) -> Path:
    return page.with_suffix("") / f"{name}-{split}.json"


def store(file: Path, result: Run) -> None:
    """Write whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    temporary.replace(file)


def stored(page: Path) -> list[Run]:
    """All runs that ended, by set and split."""
    files = (stored_file(page, name, split) for name in NAMES for split in range(N_SPLITS))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]


def line(name: str, runs: Sequence[Run]) -> str:
    """One line of the table: means over the splits, with the standard deviations of the scores."""
    kernels = ", ".join(dict.fromkeys(run["kernel"] for run in runs))
    splits = ", ".join(str(run["split"]) for run in runs)
    n_train = round(np.mean([run["n_train"] for run in runs]))
    cells = [f"{name}, {n_train:,}", kernels, splits, *(_cell(runs, key) for key in COLUMNS)]
    return "| " + " | ".join([*cells, shown(BEST[name]), shown(OTHERS[name])]) + " |"


def _cell(runs: Sequence[Run], key: str) -> str:
    decimals = COLUMNS[key][1]
    values = [run[key] for run in runs]
    if None in values:
        return "–"
    spread = len(values) > 1 and key in SCORES_WITH_SPREAD
    return f"{np.mean(values):.{decimals}f}" + (f" ± {np.std(values, ddof=1):.{decimals}f}" if spread else "")


def text(runs: Sequence[Run]) -> str:
    """The page."""
    table = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    table += [line(name, found) for name in NAMES if (found := [run for run in runs if run["data"] == name])]
    made_with = "\n\n".join(dict.fromkeys(run["provenance"] for run in runs))
    return (
        "# UCI sets in their published splits\n\n"
        "`make bench-uci`: `CommitteeRegressor` with its defaults on published 90/10 splits, the split's number as its "
        "seed, one thread in a process of its own, whose peak memory includes its libraries. RMSE and NLL (negative "
        "log density per row, in nats) are on targets that the training rows' mean and deviation standardise; means "
        "over splits, of these two ± their standard deviation.\n\n"
        f"Published figures are those of the sources, on splits and machines of theirs. {LEGEND}\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + f"\n\n{made_with}\n"
    )


def run_all(names: Sequence[str], splits: Sequence[int], page: Path, *, fresh: bool) -> int:
    """Run what is not stored; 1 if a run failed, which does not stop the others."""
    code = 0
    for name, split in ((name, split) for name in names for split in splits):
        file = stored_file(page, name, split)
        if fresh or not file.exists():
            try:
                store(file, fit_split(standardised(load_uci(name, split)), split))
            except ChildError as error:
                print(f"{name}, split {split}: {error}", file=sys.stderr)
                code = 1
                continue
        found = stored(page)
        page.write_text(text(found), encoding="utf-8")
        print(line(name, [run for run in found if (run["data"], run["split"]) == (name, split)]), flush=True)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--splits", nargs="+", type=int, choices=range(N_SPLITS), default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=PAGE, help="another page, with its own stored runs beside it")
    parser.add_argument("--fresh", action="store_true", help="run again what is stored")
    arguments = parser.parse_args()
    return run_all(arguments.data, arguments.splits, arguments.out, fresh=arguments.fresh)


if __name__ == "__main__":
    sys.exit(main())
