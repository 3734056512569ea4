"""How many copies of the rows a fit holds beside those it was given, by what they are given as.

One process for each case, started afresh. Memory of the process's own is counted (the pages of a memory map are the
file's), sampled every 2 ms. Writes results/rows_memory.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _machine import provenance

RESULT = Path(__file__).parent / "results" / "rows_memory.md"
STATUS = Path("/proc/self/status")
FORMS = ("float64", "float32", "Fortran order", "memory map", "float32 memory map", "pandas", "Arrow")
PARTITIONS = ("random", "tree")
SAMPLING_SECONDS = 2e-3


class Peak(threading.Thread):
    """Samples this process's own memory until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = own_memory()
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(SAMPLING_SECONDS):
            self.most = max(self.most, own_memory())


def own_memory() -> int:
    """Bytes resident that are no pages of files."""
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


def given(form: str, folder: Path) -> Any:
    """The stored rows in a form."""
    mode = "r" if form.endswith("memory map") else None
    X = np.load(folder / ("single.npy" if form.startswith("float32") else "double.npy"), mmap_mode=mode)
    if form == "Fortran order":
        return np.asfortranarray(X)
    names = [f"x{column}" for column in range(X.shape[1])]
    if form == "pandas":
        import pandas as pd

        return pd.DataFrame(X, columns=names)
    if form == "Arrow":
        import pyarrow as pa

        return pa.table(dict(zip(names, X.T, strict=True)))
    return X


def measure(form: str, partition: str, folder: Path) -> str:
    """Peak beside what is given, in multiples of the inputs as float64, and processor seconds."""
    from gpcommittee import CommitteeRegressor
    from gpcommittee.kernels import make_kernel

    y = np.load(folder / "target.npy")
    n_features = np.load(folder / "double.npy", mmap_mode="r").shape[1]
    kernel = make_kernel("squared_exponential", n_features)
    kernel.initialize(**{"base_kernel.lengthscale": [np.linspace(0.5, 3.0, n_features).tolist()]})
    model = CommitteeRegressor(
        kernel, aggregation="grbcm", optimizer=None, partition=partition, random_state=0, n_jobs=1
    )
    first = np.random.default_rng(1).standard_normal((1000, n_features))
    model.fit(first, first[:, 0])
    X = given(form, folder)
    before, peak, cpu = own_memory(), Peak(), time.process_time()
    peak.start()
    model.fit(X, y)
    cpu = time.process_time() - cpu
    peak.stopped.set()
    peak.join()
    return f"{(peak.most - before) / (8 * len(y) * n_features):.2f} | {cpu:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=11)
    parser.add_argument("--case", nargs=3, metavar=("FORM", "PARTITION", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    if arguments.case:
        warnings.simplefilter("ignore")
        print(measure(arguments.case[0], arguments.case[1], Path(arguments.case[2])))
        return 0
    lines = []
    with TemporaryDirectory() as name:
        folder, generator = Path(name), np.random.default_rng(0)
        X = generator.standard_normal((arguments.rows, arguments.features))
        np.save(folder / "target.npy", X[:, 0] + generator.standard_normal(arguments.rows))
        np.save(folder / "double.npy", X)
        np.save(folder / "single.npy", X.astype(np.float32))
        del X
        for form in FORMS:
            for partition in PARTITIONS:
                command = [sys.executable, __file__, "--case", form, partition, name]
                found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
                lines.append(f"| {form} | {partition} | {found} |")
                print(lines[-1], flush=True)
    arguments.out.write_text(
        f"# Copies of the rows during a fit, {arguments.rows:,} rows, {arguments.features} inputs\n\n"
        "`make bench-memory`: peak memory of a fit without training (`optimizer=None`) beside the rows it was given, "
        "in multiples of the inputs as float64. The tree divides the rows twice, the second time in units of the "
        "kernel's lengthscales. The pages of a memory map are the file's and not counted.\n\n"
        "| rows given as | partition | peak, copies | processor seconds |\n|---|---|---|---|\n"
        + "\n".join(lines)
        + f"\n\n{provenance()}\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
