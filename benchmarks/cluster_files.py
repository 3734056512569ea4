"""All of electric as a folder of Parquet files, fitted and predicted by worker processes; `make bench-cluster-files`.

Memory is each process's own peak: the client's never holds the rows, which another process writes. Reads the data
through GPCOMMITTEE_DATA and writes results/cluster_files.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks._machine import provenance
from benchmarks._memory import GIBIBYTE, forget_peak_memory, peak_memory_gib
from benchmarks._workers import WORKERS, workers
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import load_electric
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import score_report

RESULT = Path(__file__).parent / "results" / "cluster_files.md"
ROWS = 2_049_258
PARTS, PARTS_OF_POINTS = 14, 2
TARGET = "Global_active_power"


def write(folder: Path, n_train: int, n_test: int) -> None:
    """The rows of electric in random order as Parquet files, in ``rows`` and ``points``."""
    data = load_electric(n_train=n_train)
    write_parts(folder / "rows", data.X_train, data.y_train, data.feature_names, PARTS)
    write_parts(folder / "points", data.X_test[:n_test], data.y_test[:n_test], data.feature_names, PARTS_OF_POINTS)


def write_parts(folder: Path, X: Any, y: Any, names: tuple[str, ...], n_parts: int) -> None:
    folder.mkdir()
    frame = pd.DataFrame(X, columns=list(names)).assign(**{TARGET: y})
    size = -(-len(frame) // n_parts)
    for part in range(n_parts):
        frame.iloc[part * size : (part + 1) * size].to_parquet(folder / f"part{part:02d}.parquet", index=False)


def measured(client: Any, step: Callable[[], Any]) -> tuple[Any, str]:
    """The value of a step; its seconds and the peak memory of client and workers, as cells of a table."""
    forget_peak_memory()
    client.run(forget_peak_memory)
    start = time.perf_counter()
    value = step()
    seconds = time.perf_counter() - start
    peaks = [peak_memory_gib() or float("nan"), *client.run(peak_memory_gib).values()]
    return value, " | ".join([f"{seconds:.0f}", *(f"{peak * GIBIBYTE / 1e9:.2f}" for peak in peaks)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--test-rows", type=int, default=40_000)
    arguments = parser.parse_args()
    n_train = arguments.rows - arguments.test_rows
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = multiprocessing.get_context("spawn").Process(target=write, args=(folder, n_train, arguments.test_rows))
        writer.start()
        writer.join()
        with workers("6GiB") as client, warnings.catch_warnings():
            warnings.simplefilter("ignore", GPCommitteeWarning)
            model = CommitteeRegressor(random_state=0, engine=client, verbose=1)
            model, fit = measured(client, lambda: model.fit(folder / "rows", TARGET))
            print(fit, flush=True)
            _, predict = measured(client, lambda: model.predict_partitions(folder / "points", folder / "out"))
        truth = pd.read_parquet(folder / "points")[TARGET].to_numpy()
        found = pd.read_parquet(folder / "out")
    scaling = model.scaling_
    report = score_report(
        truth, found["mean"], found["std"], y_train_mean=scaling.y_mean, y_train_var=scaling.y_scale**2
    )
    heads = ["client, GB", *(f"worker {i}, GB" for i in range(1, WORKERS + 1))]
    text = (
        "# Electric as Parquet files\n\n"
        f"`make bench-cluster-files`: `CommitteeRegressor` with its defaults on {n_train:,} rows in {PARTS} Parquet "
        f"files, and {arguments.test_rows:,} others predicted to files, by {WORKERS} workers of a `LocalCluster` with "
        "a thread each. Seconds by the clock; memory is the peak of each process.\n\n"
        "<!-- table -->\n\n"
        f"| what | seconds | {' | '.join(heads)} |\n|{'---|' * (2 + len(heads))}\n"
        f"| fit, calibration included | {fit} |\n| predictions | {predict} |\n\n"
        f"Kernel {model.kernel_name_}; SMSE {report.smse:.5f}, MSLL {report.msll:.3f}, mean squared z "
        f"{report.mean_squared_z:.2f}, coverage of the 95 % interval {report.coverage:.3f}.\n\n{provenance()}\n"
    )
    print(text)
    RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
