"""The toy page: Figs. 2, 3 and 7."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.report.claims import claims_table
from benchmarks.paper.report.claims.toy import TOY_CLAIMS
from benchmarks.paper.report.page import Page, Plot
from benchmarks.paper.report.plots import label, label_msll, lines, panels
from benchmarks.paper.report.results import AGGREGATIONS, METHODS, Results, in_order
from benchmarks.paper.report.tables import made_with, scores_table

QUANTILE_99 = 2.5758
"""Half width, in standard deviations, of an interval that holds 99 % of a Gaussian."""


def toy_page(results: Results) -> Page:
    """Scores over n, the curves, and what the paper says of them."""
    blocks: list[str | Plot] = [
        "`make study-toy`. f(x) + noise of variance 0.25, n rows in [0, 1], n / 10 test points in [-0.2, 1.2], experts "
        "of 500 rows: a random communication set and k-means on the rest, factorised training. The full GP uses the "
        "hyperparameters of the first committee of 10,000 rows. The paper's figures print no numbers.",
        "## Figs. 2 and 7: rules in the paper's form",
        scores_table(results.paper, ["n_train"], ["n"]),
        Plot("toy_scores", "Computing time, SMSE and MSLL over n.", scores_figure(results.paper)),
    ]
    if not results.curves.empty:
        blocks += [
            "## Fig. 3: the rules against the full GP",
            Plot("toy_curves", "Mean and 99 % interval; grey: the full GP on 10,000 rows.", curves_figure(results)),
        ]
    blocks += ["## What the paper says", claims_table(TOY_CLAIMS, results.paper)]
    blocks += ["## Rules in the library's default form", scores_table(results.library, ["n_train"], ["n"])]
    return Page("toy", "The toy example", [*blocks, made_with(results.scores)])


def scores_figure(scores: pd.DataFrame) -> Figure:
    """Three panels over n, as Fig. 2."""
    figure, (time, smse, msll) = panels(3)
    for axis, column in ((time, "total_cpu_s"), (smse, "smse"), (msll, "msll")):
        lines(axis, scores, "n_train", column)
    label(time, "n", "fit + predict, CPU s", log_x=True, log_y=True)
    label(smse, "n", "SMSE", log_x=True, log_y=True)
    label_msll(msll, "n", log_x=True)
    smse.legend(fontsize="x-small")
    return figure


def curves_figure(results: Results) -> Figure:
    """One panel per rule and n, as Fig. 3."""
    curves = results.curves[results.curves["form"] != "library"]
    sizes = sorted(curves["n_train"].unique())
    methods = [method for method in AGGREGATIONS if method in in_order(curves["method"])]
    figure, axes = panels(len(methods), len(sizes), width=2.7, height=2.5)
    full = curves[curves["method"] == "full_gp"]
    for axis, (n, method) in zip(axes, ((n, method) for n in sizes for method in methods), strict=True):
        if len(full):
            axis.fill_between(full["x"], *_interval(full), color="0.8")
        _curve(axis, curves[(curves["n_train"] == n) & (curves["method"] == method)])
        axis.set_title(f"{METHODS[method]}, n = {n:,}", fontsize="small")
        axis.set_ylim(-10, 10)
    return figure


def _curve(axis: Axes, curve: pd.DataFrame) -> None:
    low, high = _interval(curve)
    axis.plot(curve["x"], curve["mean"], color="C3", linewidth=1)
    axis.plot(curve["x"], low, "--", color="C3", linewidth=0.8)
    axis.plot(curve["x"], high, "--", color="C3", linewidth=0.8)


def _interval(curve: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    half = QUANTILE_99 * curve["std"]
    return curve["mean"] - half, curve["mean"] + half
