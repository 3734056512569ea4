"""A cluster of worker processes on this machine against threads, on the geoid; `make bench-cluster`.

Fits and predictions by the clock, in pairs, one engine after the other; the machine should be idle. Starting the
workers and importing the library there is not counted. Also what workers send, to each other and to the client, per
evaluation of the objective, by Dask's own counters, on more and more rows. Writes results/cluster.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._workers import WORKERS, workers
from gpcommittee import CommitteeRegressor
from gpcommittee.cluster import Cluster, scatter
from gpcommittee.cluster.objective import ClusterObjective
from gpcommittee.data import standardisation, standardise_inputs, standardise_target
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import partition_rows, resolve_sizes
from gpcommittee.records import FloatArray, IntArray
from gpcommittee.training.schedule import expert_order

RESULT = Path(__file__).parent / "results" / "cluster.md"
SETTINGS: dict[str, Any] = {"kernel": "matern32", "random_state": 0}
EVALUATIONS = 3
SOME = 40
"""Experts of an evaluation on some of them."""


def run(data: RegressionData, **engine: Any) -> tuple[float, float, FloatArray]:
    """Seconds of a fit and of its predictions, and the means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        start = time.perf_counter()
        model = CommitteeRegressor(**SETTINGS, **engine).fit(data.X_train, data.y_train)
        fitted = time.perf_counter()
        mean, std = model.predict(data.X_test, return_std=True)
    return fitted - start, time.perf_counter() - fitted, np.concatenate([mean / std, np.log(std)])


def lines(data: RegressionData, client: Any, repeats: int) -> list[str]:
    """One line of the table per pair of runs."""
    table = []
    for repeat in range(1, repeats + 1):
        fit, predict, here = run(data, n_jobs=WORKERS)
        fit_there, predict_there, there = run(data, engine=client)
        whole = (fit_there + predict_there) / (fit + predict) - 1
        cells = [f"{fit:.0f}", f"{fit_there:.0f}", f"{predict:.0f}", f"{predict_there:.0f}", f"{whole:+.0%}"]
        table.append(f"| {repeat} | " + " | ".join(cells) + f" | {np.abs(there - here).max():.0e} |")
        print(table[-1], flush=True)
    return table


def sent(client: Any, n_rows: int) -> str:
    """One line of the table: what workers send in an evaluation, once they have what they need."""
    data = load_rows("geoid", n_rows, 1, 0, None)
    scaling = standardisation(data.X_train, data.y_train)
    X, y = standardise_inputs(data.X_train, scaling), standardise_target(data.y_train, scaling)
    rows = scatter(Cluster(client), X, y, partition_rows(X, "tree", resolve_sizes(n_rows, expert_size=500), 0), scaling)
    kernel = KernelFunction(make_kernel("matern32", X.shape[1]))
    theta = np.append(kernel.start, -2.0)

    def counted() -> int:
        return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

    def per_evaluation(experts: IntArray) -> str:
        objective = ClusterObjective("factorised", kernel, rows, experts, n_rows, "cpu")
        for _ in range(EVALUATIONS):
            objective(theta)
        before = counted()
        for _ in range(EVALUATIONS):
            objective(theta)
        return f"{(counted() - before) / EVALUATIONS / 1e3:.1f}"

    some, everyone = expert_order(rows.n_experts, 0)[:SOME], np.arange(rows.n_experts)
    line = f"| {n_rows:,} | {rows.n_experts:,} | {per_evaluation(some)} | {per_evaluation(everyone)} |"
    print(line, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--test-rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    data = load_rows("geoid", arguments.rows, arguments.test_rows, 0, None)
    with workers() as client:
        timed = lines(data, client, arguments.repeats)
        moved = [sent(client, n_rows) for n_rows in (20_000, 80_000, 320_000)]
    text = (
        "# Worker processes against threads\n\n"
        f"`make bench-cluster`: `CommitteeRegressor` with its defaults and Matérn-3/2 on {arguments.rows:,} rows of "
        f"the geoid and {arguments.test_rows:,} predictions with standard deviation, {WORKERS} threads and {WORKERS} "
        "workers of a `LocalCluster`, in turn, by the clock. The largest difference is that of means in standard "
        "deviations and of logarithms of deviations.\n\n"
        "<!-- table -->\n\n"
        "| pair | fit, threads, s | fit, workers, s | predict, threads, s | predict, workers, s | overhead of both | "
        "largest difference |\n|---|---|---|---|---|---|---|\n" + "\n".join(timed) + "\n\n"
        "What workers send, to each other and to the client, per evaluation of the objective, in kB by Dask's "
        "counters; experts of 500 rows, an evaluation having 256 tasks at most:\n\n"
        f"| rows | experts | {SOME} experts at random | all experts |\n|---|---|---|---|\n"
        + "\n".join(moved)
        + f"\n\n{provenance()}\n"
    )
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
