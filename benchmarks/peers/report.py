"""A page per data set: a table sorted by time, and accuracy against time; and one of all data sets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.report.page import Page, Plot, table
from benchmarks.paper.report.plots import label, panels
from benchmarks.paper.report.tables import made_with, number, spread
from benchmarks.paper.store import read_rows
from benchmarks.peers.overview import overview
from benchmarks.peers.studies import STUDIES

OURS = "ours"
COLUMNS = {
    "fit_cpu_s": ("fit, CPU s", 1),
    "predict_cpu_s": ("predict, CPU s", 1),
    "total_cpu_s": ("both", 1),
    "peak_memory_gib": ("peak, GiB", 2),
    "smse": ("SMSE", 4),
    "msll": ("MSLL", 3),
    "coverage": ("coverage of 95 %", 3),
    "mean_squared_z": ("mean squared z", 2),
}
"""Heading and decimals of the values shown."""


def write_pages(results: Path) -> list[Path]:
    """Pages of all data sets that have results, and one of all of them, beside the folder of results."""
    read = {study: pd.DataFrame(read_rows(results, study)) for study in STUDIES}
    stored = {
        study: rows.assign(total_cpu_s=rows["fit_cpu_s"] + rows["predict_cpu_s"])
        for study, rows in read.items()
        if len(rows)
    }
    pages = [page(study, rows) for study, rows in stored.items()]
    return [page.write(results) for page in (*pages, overview(stored))]


def page(study: str, rows: pd.DataFrame) -> Page:
    """One section per size that ran."""
    blocks: list[str | Plot] = [
        "Each system has the same standardised rows, one thread in a process of its own, whose peak memory includes "
        "its libraries, and the same kernel, but for the line whose training chooses it. Times are processor seconds; "
        "the last column compares fit and prediction with the library's default with that kernel, in matrix products "
        "of the same minutes."
    ]
    for (n_train, n_test), of_size in rows.groupby(["n_train", "n_test"]):
        name = f"{study}_{n_train}"
        blocks += [
            f"## {n_train:,} / {n_test:,} rows",
            f"`{command(study, int(n_train), int(n_test))}`. {of_size['data_note'].iloc[0]}",
            scores_table(of_size),
            Plot(name, f"Accuracy against time, {study}, {n_train:,} training rows", accuracy_plot(of_size)),
        ]
    return Page(study, f"{study}: other systems", [*blocks, made_with(rows)])


def command(study: str, n_train: int, n_test: int) -> str:
    """What was run."""
    usual = STUDIES[study]
    if n_train == (usual.rows or usual.all_rows):
        return f"make bench-peers PEERS_ARGS={study}"
    return f'make bench-peers PEERS_ARGS="{study} --rows {n_train} --test-rows {n_test}"'


def scores_table(rows: pd.DataFrame) -> str:
    """Systems by time; mean and standard deviation where there is more than one run."""
    ours = _products(rows[rows["tag"] == OURS])
    lines = []
    for _, group in sorted(rows.groupby("tag"), key=lambda item: item[1]["total_cpu_s"].mean()):
        cells = [spread(group[column], decimals) for column, (_, decimals) in COLUMNS.items()]
        relative = number(_products(group) / ours, 2) if ours else ""
        lines.append([str(group["system"].iloc[0]), *cells, relative])
    return table(["system", *(heading for heading, _ in COLUMNS.values()), "time / ours"], lines)


def accuracy_plot(rows: pd.DataFrame) -> Figure:
    """SMSE and MSLL over processor seconds, ours filled."""
    figure, axes = panels(2, width=6.0, height=4.6)
    for axis, score in zip(axes, ("smse", "msll"), strict=True):
        _points(axis, rows, score)
        label(axis, "fit and prediction, processor seconds", score.upper(), log_x=True, log_y=score == "smse")
    axes[0].yaxis.set_minor_formatter("{x:g}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _points(axis: Axes, rows: pd.DataFrame, score: str) -> None:
    tags = sorted(rows["tag"].unique(), key=lambda tag: (not tag.startswith(OURS), tag))
    for i, tag in enumerate(tags):
        group = rows[rows["tag"] == tag]
        ours = tag.startswith(OURS)
        axis.scatter(
            group["total_cpu_s"],
            group[score],
            label=group["system"].iloc[0],
            marker="osv^DPX*<>h"[i % 11],
            s=70 if tag == OURS else 40,
            color=f"C{i % 10}",
            facecolors=f"C{i % 10}" if ours else "none",
        )


def _products(rows: pd.DataFrame) -> float:
    """Time in matrix-product operations; 0 if there are no rows."""
    return float((rows["total_cpu_s"] * rows["dgemm_gflops"]).mean()) if len(rows) else 0.0
