"""How the communication set is chosen: at random, or spread over the inputs; `make bench-communication`.

Each data set is fitted once per seed with the library's defaults, which draw the set at random. Its hyperparameters are
kept, and the rows are divided again around sets of the same size that are chosen otherwise; the other rows are divided
in the learned metric, as in the fit. Reads the data through GPCOMMITTEE_DATA. Every run is appended to
results/communication.jsonl when it ends, and not done again; results/communication.md is made from all of them.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpcommittee.prediction.nearby import nearby_groups
from gpcommittee.training.metric import input_scales

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._pivots import pivots
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.experts import Committee
from gpcommittee.metrics import score_report
from gpcommittee.records import FloatArray, IntArray

RESULTS = Path(__file__).parent / "results"
RULES = ("grbcm", "communication")
SUBSAMPLE = 5
"""Random rows among which pivots are picked, for each row of the set."""

COLUMNS = {"SMSE": "smse", "MSLL": "msll", "mean squared z": "z2", "coverage of 95 %": "cov"}
Run = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """Rows of a data set, None for all, and the kernel."""

    rows: int | None
    test_rows: int | None
    kernel: str = "squared_exponential"


STUDIES = {
    "kin40k": Study(10_000, 4_000),
    "sarcos": Study(None, None),
    "geoid": Study(20_000, 4_000, "matern32"),
    "electric": Study(50_000, 4_000),
}
"""Of sarcos only the test file is at hand, which is split."""


@dataclass(frozen=True)
class Rows:
    """What a choice may look at.

    Attributes
    ----------
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs in the order of the data.
    metric : ndarray, shape (n_rows, n_features)
        The same in units of the learned lengthscales.
    committee : Committee
    size : int
        Rows to be chosen.
    """

    X: FloatArray
    metric: FloatArray
    committee: Committee
    size: int


def at_random(rows: Rows, generator: np.random.Generator) -> IntArray:
    return generator.choice(len(rows.X), rows.size, replace=False)


def farthest(rows: Rows, generator: np.random.Generator) -> IntArray:
    """Greedy k-centre: each row is the one farthest from those before (Gonzalez, 1985)."""
    chosen = [int(generator.integers(len(rows.X)))]
    distance = np.full(len(rows.X), np.inf)
    while len(chosen) < rows.size:
        distance = np.minimum(distance, ((rows.metric - rows.metric[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)


def pivoted(rows: Rows, generator: np.random.Generator) -> IntArray:
    """Greedy variance: pivots of the covariance of a subsample."""
    some = generator.choice(len(rows.X), min(SUBSAMPLE * rows.size, len(rows.X)), replace=False)
    x = rows.committee.kernel.tensor(rows.X[some])
    with torch.no_grad():
        variance = rows.committee.prior_variance(x)
        chosen = pivots(variance, lambda i: rows.committee.covariance(x, x[i : i + 1])[:, 0], rows.size)
    found = some[chosen]
    return np.concatenate([found, np.setdiff1d(some, found)[: rows.size - len(found)]])


def stratified(rows: Rows, generator: np.random.Generator) -> IntArray:
    """A random row of each of as many groups of neighbours: random, but evenly spread over the rows."""
    groups = nearby_groups(rows.metric, -(-len(rows.X) // rows.size))
    chosen = np.array([generator.choice(group) for group in groups])
    others = np.setdiff1d(np.arange(len(rows.X)), chosen)
    return np.concatenate([chosen, generator.choice(others, rows.size - len(chosen), replace=False)])


CHOICES: dict[str, Callable[[Rows, np.random.Generator], IntArray]] = {
    "random": at_random,
    "farthest point": farthest,
    "greedy variance": pivoted,
    "stratified": stratified,
}


def run(name: str, seed: int) -> list[Run]:
    study = STUDIES[name]
    data = load_rows(name, study.rows, study.test_rows, seed, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model = CommitteeRegressor(study.kernel, random_state=seed, n_jobs=1).fit(data.X_train, data.y_train)
        return [_outcome(name, seed, choice, model, data) for choice in CHOICES]


def _outcome(name: str, seed: int, choice: str, model: CommitteeRegressor, data: RegressionData) -> Run:
    rows = _rows(model, data)
    start = time.process_time()
    chosen = CHOICES[choice](rows, np.random.default_rng(seed))
    seconds = time.process_time() - start
    again = CommitteeRegressor(
        model.kernel_,
        noise_variance=model.noise_variance_,
        optimizer=None,
        partition=_labels(rows, chosen, model.partition_.n_experts),
        n_jobs=1,
    ).fit(data.X_train, data.y_train)
    reports = [
        score_report(
            data.y_test,
            prediction.mean,
            np.sqrt(prediction.var_noisy),
            y_train_mean=float(data.y_train.mean()),
            y_train_var=float(data.y_train.var()),
        )
        for prediction in again.predict_rules(data.X_test, RULES)
    ]
    found: Run = {"data": name, "seed": seed, "choice": choice, "size": rows.size, "cpu": seconds}
    for rule, report in zip(RULES, reports, strict=True):
        scores = (report.smse, report.msll, report.mean_squared_z, report.coverage)
        found[rule] = dict(zip(COLUMNS.values(), scores, strict=True))
    return found


def _rows(model: CommitteeRegressor, data: RegressionData) -> Rows:
    committee = model.committee_
    X = np.empty_like(data.X_train, dtype=float)
    X[model.partition_.order] = committee.X.numpy()
    scales = input_scales(committee.kernel, committee.hyperparameters.kernel, X)
    return Rows(X, X if scales is None else X / scales, committee, int(committee.offsets[1]))


def _labels(rows: Rows, chosen: IntArray, n_experts: int) -> IntArray:
    """The expert of each row: 0 of those chosen, neighbours together otherwise."""
    labels = np.zeros(len(rows.X), dtype=np.int64)
    rest = np.setdiff1d(np.arange(len(rows.X)), chosen)
    for expert, group in enumerate(nearby_groups(rows.metric[rest], -(-len(rest) // (n_experts - 1))), start=1):
        labels[rest[group]] = expert
    return labels


def table(runs: list[Run]) -> str:
    lines = [
        f"| data | set | {' | '.join(COLUMNS)} | SMSE and MSLL of the set alone | seconds to choose | seeds |",
        "|---" * (len(COLUMNS) + 5) + "|",
    ]
    for name in STUDIES:
        for choice in CHOICES:
            if found := [r for r in runs if (r["data"], r["choice"]) == (name, choice)]:
                cells = [_mean(found, "grbcm", key, 4 if key == "smse" else 3) for key in COLUMNS.values()]
                alone = f"{_mean(found, 'communication', 'smse', 4)} / {_mean(found, 'communication', 'msll', 3)}"
                seconds = f"{np.mean([r['cpu'] for r in found]):.1f}"
                set_name = f"{choice}, {found[0]['size']:,}"
                lines.append(
                    f"| {name} | {set_name} | {' | '.join(cells)} | {alone} | {seconds} | "
                    f"{', '.join(str(r['seed']) for r in found)} |"
                )
    return "\n".join(lines)


def _mean(runs: list[Run], rule: str, key: str, digits: int) -> str:
    return f"{np.mean([r[rule][key] for r in runs]):.{digits}f}"


def stored(path: Path) -> list[Run]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    arguments = parser.parse_args()
    path = RESULTS / "communication.jsonl"
    for name, seed in ((name, seed) for seed in arguments.seeds for name in arguments.data):
        if not any((r["data"], r["seed"]) == (name, seed) for r in stored(path)):
            found = run(name, seed)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(r) + "\n" for r in found)
    text = (
        "# How the communication set is chosen\n\n`make bench-communication`: GRBCM with the library's defaults, "
        "Matérn-3/2 on the geoid, on 4,000 test rows, of sarcos all; hyperparameters are those of the fit with its "
        "random set. Means over seeds; processor seconds on one thread.\n\n<!-- table -->\n\n"
        f"{table(stored(path))}\n\n{provenance()}\n"
    )
    (RESULTS / "communication.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
