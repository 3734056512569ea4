"""Pages of tables and plots, made from stored results only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.paper.report.consistency import consistency_page
from benchmarks.paper.report.large import large_page
from benchmarks.paper.report.medium import medium_page
from benchmarks.paper.report.page import Page
from benchmarks.paper.report.results import Results
from benchmarks.paper.report.toy import toy_page

PAGES: dict[str, Callable[[Results], Page]] = {
    "toy": toy_page,
    "kin40k": medium_page,
    "sarcos": medium_page,
    "electric": large_page,
    "song": large_page,
    "consistency": consistency_page,
}


def write_pages(results: Path, pages: Path) -> list[Path]:
    """One page per study that has results.

    Returns
    -------
    list of pathlib.Path
        The Markdown files written; their plots lie beside them.
    """
    stored = {study: Results.read(results, study) for study in PAGES}
    return [PAGES[study](found).write(pages) for study, found in stored.items() if not found.empty]
