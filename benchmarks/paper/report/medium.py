"""Pages of kin40k and sarcos: Figs. 4, 5 and 6, Table 2."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.paper.report.claims import claims_table
from benchmarks.paper.report.claims.medium import main_experts, main_systems, medium_claims
from benchmarks.paper.report.page import Page, Plot
from benchmarks.paper.report.plots import label, label_msll, lines, paired_bars, panels, scatter
from benchmarks.paper.report.results import Results
from benchmarks.paper.report.tables import comparison_table, made_with, scores_table


def medium_page(results: Results) -> Page:
    """The same page for both data sets; rows of several splits stay apart."""
    blocks: list[str | Plot] = []
    for (n_train, n_test), scores in results.scores.groupby(["n_train", "n_test"]):
        tag = f"{results.study}_{n_train}"
        blocks += [
            f"## {n_train:,} / {n_test:,} rows",
            f"`make study-{results.study}`. {scores['data_note'].iloc[0]}",
            *_of_split(scores, tag),
        ]
    title = f"{results.study}: medium-scale data"
    return Page(results.study, title, [*blocks, made_with(results.scores)])


def _of_split(scores: pd.DataFrame, tag: str) -> list[str | Plot]:
    paper, library = scores[scores["form"] != "library"], scores[scores["form"] == "library"]
    experts = main_experts(scores)
    main = main_systems(paper)
    dataset = str(scores["study"].iloc[0])
    disjoint = paper[paper["partition"] == "kmeans"]
    same_number = paper[paper["n_experts"] == experts]
    return [
        f"### Fig. 4: all systems, {experts} experts, k-means",
        scores_table(main),
        Plot(f"{tag}_systems", "SMSE and MSLL over computing time.", systems_figure(main)),
        "### Table 2: GRBCM and NPAE",
        comparison_table(main, dataset, "Table 2"),
        *_experts_section(disjoint, tag),
        *_partition_section(same_number, tag),
        "### What the paper says",
        claims_table(medium_claims(dataset), paper),
        "### Rules in the library's default form",
        scores_table(main_systems(library)),
    ]


def _experts_section(scores: pd.DataFrame, tag: str) -> list[str | Plot]:
    title = "### Fig. 5: number of experts"
    if scores["n_experts"].nunique() < 2:
        return [title, "Not run with other numbers yet."]
    plot = Plot(f"{tag}_experts", "SMSE and MSLL over the number of experts.", experts_figure(scores))
    return [title, scores_table(scores, ["n_experts"], ["experts"]), plot]


def _partition_section(scores: pd.DataFrame, tag: str) -> list[str | Plot]:
    title = "### Fig. 6: partition"
    if scores["partition"].nunique() < 2:
        return [title, "Not run with the random partition yet."]
    plot = Plot(f"{tag}_partition", "SMSE and MSLL, k-means and random partition.", partition_figure(scores))
    return [title, scores_table(scores, ["partition"], ["partition"]), plot]


def systems_figure(scores: pd.DataFrame) -> Figure:
    """Fig. 4."""
    figure, (smse, msll) = panels(2)
    scatter(smse, scores, "total_cpu_s", "smse")
    scatter(msll, scores, "total_cpu_s", "msll")
    label(smse, "fit + predict, CPU s", "SMSE", log_x=True, log_y=True)
    label_msll(msll, "fit + predict, CPU s", log_x=True)
    smse.legend(fontsize="x-small")
    return figure


def experts_figure(scores: pd.DataFrame) -> Figure:
    """Fig. 5."""
    figure, (smse, msll) = panels(2)
    lines(smse, scores, "n_experts", "smse")
    lines(msll, scores, "n_experts", "msll")
    label(smse, "experts", "SMSE", log_x=True, log_y=True)
    label_msll(msll, "experts", log_x=True)
    smse.legend(fontsize="x-small")
    return figure


def partition_figure(scores: pd.DataFrame) -> Figure:
    """Fig. 6."""
    figure, (smse, msll) = panels(2)
    paired_bars(smse, scores, "partition", "smse")
    paired_bars(msll, scores, "partition", "msll")
    label(smse, "", "SMSE", log_y=True)
    label_msll(msll, "")
    smse.legend(fontsize="x-small")
    return figure
