"""The consistency page: Propositions 1, 2 and 3."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.paper.report.claims import claims_table
from benchmarks.paper.report.claims.consistency import CONSISTENCY_CLAIMS
from benchmarks.paper.report.page import Page, Plot, table
from benchmarks.paper.report.plots import label, lines, panels
from benchmarks.paper.report.results import METHODS, Results, in_order
from benchmarks.paper.report.tables import made_with, spread

PARTITIONS = {"random": "random partition", "kmeans": "disjoint partition (k-means)"}
COLUMNS = {"variance_ratio": "variance / noise", "mean_slope": "slope of the mean", "relative_error": "relative error"}


def consistency_page(results: Results) -> Page:
    """Where variance and mean of each rule go."""
    prior = float(results.scores["prior_ratio"].mean())
    slope = prior / (prior - 1)
    blocks: list[str | Plot] = [
        "`make study-consistency`. The toy function with noise of variance 0.25; the square root of n experts of the "
        "square root of n rows each; fixed hyperparameters, the noise at its true variance. *Variance / noise* is the "
        "median over 181 points in [0.05, 0.95] of the predicted variance of an observation over the noise variance: 1 "
        f"is right, 0 overconfident, {prior:.1f} the variance of the target. *Slope of the mean* is that of the "
        f"predicted mean over the function: 1 is right; Proposition 2 gives (R)BCM a = {slope:.4f} here.",
        Plot("consistency", "Predicted over noise variance, rules in the paper's form.", limits_figure(results.paper)),
        "## What the propositions say",
        claims_table(CONSISTENCY_CLAIMS, results.paper),
        "## Rules in the paper's form",
        limits_table(results.paper),
        "## Rules in the library's default form",
        "Latent variances are combined and the noise is added last, so no rule ends below the noise; what vanishes is "
        "the variance of the function.",
        limits_table(results.library),
    ]
    return Page("consistency", "Propositions 1 to 3, shown", [*blocks, made_with(results.scores)])


def limits_figure(scores: pd.DataFrame) -> Figure:
    """Variance over n, a panel per partition; the line at 1 is the noise, the dotted one the target's variance."""
    figure, axes = panels(len(PARTITIONS), width=5.0, height=3.8)
    for axis, (partition, title) in zip(axes, PARTITIONS.items(), strict=True):
        lines(axis, scores[scores["partition"] == partition], "n_train", "variance_ratio")
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.axhline(float(scores["prior_ratio"].mean()), color="black", linewidth=0.8, linestyle=":")
        label(axis, "n", "variance / noise variance", log_x=True, log_y=True)
        axis.set_title(title)
    axes[0].legend(fontsize="x-small")
    return figure


def limits_table(scores: pd.DataFrame) -> str:
    """Every measure by partition, n and method."""
    rows = [
        [METHODS[method], partition, f"{n:,}", *(spread(group[column]) for column in COLUMNS)]
        for partition in PARTITIONS
        for method in in_order(scores["method"])
        for n, group in scores[(scores["partition"] == partition) & (scores["method"] == method)].groupby("n_train")
    ]
    return table(["method", "partition", "n", *COLUMNS.values()], rows, text_columns=2)
