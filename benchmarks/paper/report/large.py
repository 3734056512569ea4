"""Pages of electric and song: Table 1."""

from __future__ import annotations

import pandas as pd

from benchmarks.paper.report.claims import claims_table
from benchmarks.paper.report.claims.large import large_claims
from benchmarks.paper.report.page import Page, Plot
from benchmarks.paper.report.results import Results
from benchmarks.paper.report.tables import comparison_table, made_with, scores_table


def large_page(results: Results) -> Page:
    """One section per size that ran, each beside the paper's full size."""
    blocks: list[str | Plot] = []
    for (n_train, n_test), scores in results.scores.groupby(["n_train", "n_test"]):
        blocks += [f"## {n_train:,} / {n_test:,} rows", *_of_size(results.study, scores)]
    return Page(results.study, f"{results.study}: large data", [*blocks, made_with(results.scores)])


def _of_size(study: str, scores: pd.DataFrame) -> list[str]:
    paper, library = scores[scores["form"] != "library"], scores[scores["form"] == "library"]
    experts = sorted(scores["n_experts"].dropna().astype(int).unique())
    n_train, n_test = int(scores["n_train"].iloc[0]), int(scores["n_test"].iloc[0])
    arguments = f'STUDY_ARGS="--rows {n_train} --test-rows {n_test}"'
    return [
        f"`make study-{study} {arguments}`, {', '.join(map(str, experts))} experts. {scores['data_note'].iloc[0]}",
        "### Table 1",
        comparison_table(paper, study, "Table 1"),
        "### All scores",
        scores_table(paper),
        "### What the paper says",
        claims_table(large_claims(study), paper),
        "### Rules in the library's default form",
        scores_table(library),
    ]
