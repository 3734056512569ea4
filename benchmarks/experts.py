"""Do intervals hold what they say from 8 experts to 3,000? The defaults but for their number; `make bench-experts`.

Reads the data through GPCOMMITTEE_DATA and writes results/experts.md and results/experts.png.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks._data import load_rows
from benchmarks._machine import provenance
from benchmarks._outcome import fit_and_score
from benchmarks._synthetic import FAMILIES
from gpcommittee import CommitteeRegressor

RESULTS = Path(__file__).parent / "results"
TEST_ROWS = 4_000
MARKERS = "osv^DPX*<>h"
COLOURS = (*(f"C{i}" for i in range(10)), "black")

FEW = {8: 10_000, 32: 10_000, 100: 10_000}
MANY = {8: 10_000, 64: 40_000, 512: 200_000, 3_000: 600_000}
STUDIES: dict[str, Mapping[int, int]] = {
    **dict.fromkeys(FAMILIES, FEW),
    "kin40k": FEW,
    "sarcos": {8: 4_000, 32: 4_000},
    "geoid": MANY,
    "electric": MANY,
}
"""Rows by number of experts: experts of 100 to 1,250 rows. Of sarcos only the test file is at hand, which is split."""

SPLITS = {"sarcos": 5}
"""Where one split leaves too few test rows to tell."""

HELD, SIZE = (0.93, 0.97), (0.8, 1.25)
"""What coverage of the 95 % interval and the mean squared z-score are to lie between."""


@dataclass(frozen=True)
class Line:
    """Means over the splits of a data set; kernels by name; processor seconds of all."""

    rows: int
    n_experts: int
    kernels: str
    smse: float
    msll: float
    mean_squared_z: float
    coverage: float
    seconds: float

    def cells(self) -> str:
        inside = HELD[0] <= self.coverage <= HELD[1] and SIZE[0] <= self.mean_squared_z <= SIZE[1]
        return (
            f"{self.rows:,} | {self.n_experts:,} | {self.kernels} | {self.smse:.2g} | {self.msll:.3f} | "
            f"{self.mean_squared_z:.2f} | {self.coverage:.3f} | {'yes' if inside else '**no**'} | {self.seconds:.0f}"
        )


def run(name: str, n_experts: int, seed: int) -> Line:
    """Fit and score every split of a data set."""
    rows, outcomes = STUDIES[name][n_experts], []
    for split in range(seed, seed + SPLITS.get(name, 1)):
        data = load_rows(name, rows, None if name == "sarcos" else TEST_ROWS, split, None)
        outcomes.append(fit_and_score(CommitteeRegressor(n_experts=n_experts, random_state=split, n_jobs=1), data))
    means = {
        field: float(np.mean([getattr(outcome.report, field) for outcome in outcomes]))
        for field in ("smse", "msll", "mean_squared_z", "coverage")
    }
    kernels = ", ".join(dict.fromkeys(outcome.model.kernel_name_ for outcome in outcomes))
    seconds = sum(outcome.fit_seconds + outcome.predict_seconds for outcome in outcomes)
    return Line(rows, n_experts, kernels, **means, seconds=seconds)


def draw(curves: Mapping[str, Sequence[Line]], path: Path) -> None:
    """Coverage and mean squared z-score over the number of experts, a line for each data set."""
    figure = Figure(figsize=(10, 4.5), dpi=140, facecolor="white", layout="constrained")
    panels = figure.subplots(1, 2)
    shown = (("coverage", "coverage of the 95 % interval", HELD), ("mean_squared_z", "mean squared z-score", SIZE))
    for axes, (field, title, band) in zip(panels, shown, strict=True):
        axes.axhspan(*band, color="#e6e6ee")
        for number, (name, found) in enumerate(curves.items()):
            values = [getattr(line, field) for line in found]
            axes.plot(
                [line.n_experts for line in found], values, color=COLOURS[number], marker=MARKERS[number], label=name
            )
        axes.set(xscale="log", xlabel="experts", title=title)
        axes.set_xticks([8, 32, 100, 512, 3_000], ["8", "32", "100", "512", "3,000"])
        axes.minorticks_off()
    panels[1].set_yscale("log")
    panels[1].set_yticks([0.8, 1.0, 1.25], ["0.8", "1", "1.25"], minor=False)
    panels[1].minorticks_off()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(path, format="png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", choices=STUDIES, default=list(STUDIES))
    arguments = parser.parse_args()
    table = ["| data | rows | experts | kernel | SMSE | MSLL | mean squared z | coverage of 95 % | held | CPU s |"]
    table.append("|" + "---|" * 10)
    curves = defaultdict(list)
    for name in arguments.data:
        for n_experts in STUDIES[name]:
            curves[name].append(run(name, n_experts, arguments.seed))
            table.append(f"| {name} | {curves[name][-1].cells()} |")
            print(table[-1], flush=True)
    draw(curves, RESULTS / "experts.png")
    text = (
        "# Intervals from 8 experts to 3,000\n\n"
        f"`make bench-experts`: `CommitteeRegressor` with its defaults but for the number of experts, seed "
        f"{arguments.seed}, one thread; {TEST_ROWS:,} test rows, of sarcos 449 in each of "
        f"{SPLITS['sarcos']} splits. *Held*: coverage of the 95 % interval "
        f"between {HELD[0]} and {HELD[1]} and mean squared z-score between {SIZE[0]} and {SIZE[1]}.\n\n"
        "<!-- table -->\n\n" + "\n".join(table) + "\n\n"
        "![Coverage and mean squared z-score over the number of experts](experts.png)\n\n" + f"{provenance()}\n"
    )
    (RESULTS / "experts.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
