"""Pages come from stored results only, with the paper's numbers beside ours."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.paper.report import write_pages
from benchmarks.paper.report.claims import Claim, NotRunError, Verdict, claims_table
from benchmarks.paper.report.claims.checks import beats, first_within
from benchmarks.paper.report.results import METHODS, PUBLISHED, Results, published
from benchmarks.paper.report.tables import comparison_table, spread

TEX_TABLE_1 = {("song", "grbcm", "smse"): 0.7321, ("electric", "poe", "msll"): 1040.3}
TEX_TABLE_2 = {("kin40k", "npae", "time_s"): (2852.4, 16.7), ("sarcos", "grbcm", "msll"): (-2.3681, 0.0242)}


def scores(**values: list[float]) -> pd.DataFrame:
    """SMSE (and as MSLL the same) of methods by name."""
    rows = [{"method": name, "smse": v, "msll": v} for name, column in values.items() for v in column]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def pages(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_pages(stored, tmp_path_factory.mktemp("pages"))


def test_every_study_with_results_gets_a_page_and_its_plots(pages: list[Path]) -> None:
    assert [page.name for page in pages] == ["toy.md", "kin40k.md", "electric.md", "consistency.md"]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert not any("nan" in text.lower() for text in texts)
    shown = {plot for text in texts for plot in re.findall(r"\]\((\S+\.png)\)", text)}
    assert shown == {file.name for file in pages[0].parent.glob("*.png")}


def test_a_page_shows_the_stored_numbers(stored: Path, pages: list[Path]) -> None:
    results = Results.read(stored, "toy")
    smse = results.paper.query("method == 'grbcm' and n_train == 120")["smse"]
    assert f"| GRBCM | 120 | 2 | {spread(smse)} |" in pages[0].read_text(encoding="utf-8")


def test_the_papers_tables_are_complete() -> None:
    numbers = pd.read_csv(PUBLISHED)
    assert set(numbers["method"]) <= set(METHODS)
    table_1 = numbers[numbers["source"] == "Table 1"].set_index(["dataset", "method", "metric"])["mean"]
    table_2 = numbers[numbers["source"] == "Table 2"].set_index(["dataset", "method", "metric"])[["mean", "std"]]
    assert (len(table_1), len(table_2)) == (2 * 6 * 2, 2 * 2 * 3)
    assert {key: table_1[key] for key in TEX_TABLE_1} == TEX_TABLE_1
    assert {key: tuple(table_2.loc[key]) for key in TEX_TABLE_2} == TEX_TABLE_2


def test_comparison_has_ours_the_papers_and_the_difference() -> None:
    ours = scores(grbcm=[0.02, 0.03]).assign(total_wall_s=50.0)
    text = comparison_table(ours, "kin40k", "Table 2")
    assert "| GRBCM, SMSE | 0.0250 ± 0.0071 | 0.0223 ± 0.0005 | 0.0027 |" in text
    assert "| NPAE, SMSE | not run | 0.0246 ± 0.0007 |  |" in text
    assert len(published("kin40k", "Table 2")) == text.count("\n") - 1


@pytest.mark.parametrize(("grbcm", "holds"), [([0.1, 0.3], True), ([0.19, 0.21], False)])
def test_first_within_one_deviation(grbcm: list[float], *, holds: bool) -> None:
    values = scores(grbcm=grbcm, rbcm=[0.15, 0.15])
    assert first_within(values, "smse", "grbcm", ["rbcm"]).holds is holds


def test_beats_looks_at_both_measures() -> None:
    values = scores(grbcm=[0.1], npae=[0.2])
    assert beats(values, "grbcm", "npae").holds
    assert not beats(values.assign(msll=[1.0, 0.5]), "grbcm", "npae").holds


def test_a_claim_without_results_says_so() -> None:
    def check(frame: pd.DataFrame) -> Verdict:
        raise NotRunError("two sizes are needed")

    assert claims_table([Claim("Fig. 9", "A is B", check)], scores(poe=[1.0])).endswith(
        "| A is B | Fig. 9 | not run | two sizes are needed |"
    )
