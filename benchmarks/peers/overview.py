"""All data sets in one table: the library's defaults beside what other systems reach."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchmarks.paper.report.page import Page, table
from benchmarks.paper.report.tables import number

SYSTEMS = {
    "ours-auto": "ours, default",
    "exact-2000": "exact on 2,000 rows",
    "svgp-512": "SVGP",
    "vecchia-30": "Vecchia",
    "neighbours-400": "GPnn",
}
"""Heading of each system that has a column, by tag."""


def overview(stored: Mapping[str, pd.DataFrame]) -> Page:
    """SMSE, MSLL and processor seconds of each system on each data set.

    Parameters
    ----------
    stored : mapping of str to DataFrame
        Runs by data set, with the seconds of fit and prediction together.
    """
    lines = []
    for study, rows in stored.items():
        for (n_train, n_test), of_size in rows.groupby(["n_train", "n_test"]):
            cells = [_cell(of_size[of_size["tag"] == tag]) for tag in SYSTEMS]
            lines.append([f"{study}, {n_train:,} / {n_test:,}", *cells])
    words = "Rows for training and testing, then SMSE / MSLL / processor seconds of fit and prediction on one thread."
    return Page("overview", "Other systems", [words, table(["data", *SYSTEMS.values()], lines)])


def _cell(rows: pd.DataFrame) -> str:
    """Means over its runs; nothing where it did not run."""
    if rows.empty:
        return ""
    return f"{rows['smse'].mean():.3g} / {number(rows['msll'].mean(), 3)} / {rows['total_cpu_s'].mean():.0f} s"
