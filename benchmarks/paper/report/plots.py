"""Plots of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from benchmarks.paper.report.results import METHODS, in_order

MARKERS = dict(zip(METHODS, "osv^DPX*<>h", strict=True))
LARGE_MSLL, LINEAR_MSLL = 10.0, 2.0
"""MSLL above which its axis is logarithmic, and where it stays linear then."""

COLOURS = {method: f"C{i}" for i, method in enumerate(METHODS)}


def panels(n_columns: int, n_rows: int = 1, width: float = 4.2, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, list(axes.flat)


def lines(axis: Axes, scores: pd.DataFrame, x: str, y: str, methods: Sequence[str] | None = None) -> None:
    """Mean of ``y`` over ``x``, one line per method, with the standard deviation where there is one."""
    for method in methods or in_order(scores["method"]):
        grouped = scores[scores["method"] == method].groupby(x)[y]
        axis.errorbar(
            grouped.mean().index,
            grouped.mean(),
            yerr=grouped.std().fillna(0.0),
            label=METHODS[method],
            marker=MARKERS[method],
            color=COLOURS[method],
            capsize=2,
        )


def scatter(axis: Axes, scores: pd.DataFrame, x: str, y: str) -> None:
    """Every run as a point."""
    for method in in_order(scores["method"]):
        of_method = scores[scores["method"] == method]
        axis.scatter(of_method[x], of_method[y], label=METHODS[method], marker=MARKERS[method], color=COLOURS[method])


def paired_bars(axis: Axes, scores: pd.DataFrame, by: str, y: str) -> None:
    """Mean of ``y`` for each method, side by side for each value of ``by``."""
    methods, values = in_order(scores["method"]), sorted(scores[by].unique())
    means = scores.groupby([by, "method"])[y].mean()
    width = 0.8 / len(values)
    for i, value in enumerate(values):
        heights = [means.get((value, method), np.nan) for method in methods]
        axis.bar(np.arange(len(methods)) + i * width, heights, width, label=str(value))
    axis.set_xticks(np.arange(len(methods)) + 0.4 - width / 2, [METHODS[method] for method in methods], rotation=60)


def label(axis: Axes, x: str, y: str, *, log_x: bool = False, log_y: bool = False) -> None:
    """Axis labels and scales; logarithmic axes have plain numbers, between powers of ten too where they are few."""
    axis.set(xlabel=x, ylabel=y)
    if log_x:
        axis.set_xscale("log")
    if log_y:
        axis.set_yscale("log")
    for side in [axis.xaxis] * log_x + [axis.yaxis] * log_y:
        side.set_major_formatter("{x:g}")
        side.set_minor_formatter(LogFormatter(minor_thresholds=(1.2, 0.4)))
    axis.grid(alpha=0.3)


def label_msll(axis: Axes, x: str, *, log_x: bool = False) -> None:
    """Labels of a panel of MSLL, which spans decades above 0 where a rule is overconfident."""
    label(axis, x, "MSLL", log_x=log_x)
    if axis.get_ylim()[1] > LARGE_MSLL:
        axis.set_yscale("symlog", linthresh=LINEAR_MSLL)
