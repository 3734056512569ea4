"""Stored results as data frames, and the paper's numbers beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks.paper.measure import Row
from benchmarks.paper.store import read_curves, read_rows

PUBLISHED = Path(__file__).parents[1] / "published" / "numbers.csv"

METHODS = {
    "poe": "PoE",
    "gpoe": "GPoE",
    "bcm": "BCM",
    "rbcm": "RBCM",
    "grbcm": "GRBCM",
    "npae": "NPAE",
    "communication": "M_c alone",
    "full_gp": "full GP",
    "fitc": "FITC",
    "svi": "SVI",
    "sod": "SOD",
}
"""Names of methods, in the order of every table."""

COMMITTEE_COLUMNS = ("n_experts", "partition", "npae")
"""Settings that only committees have; empty for other systems."""

AGGREGATIONS = ("poe", "gpoe", "bcm", "rbcm", "grbcm", "npae")


@dataclass(frozen=True)
class Results:
    """Scores and curves of one study, one row per method and run (and grid point)."""

    study: str
    scores: pd.DataFrame
    curves: pd.DataFrame

    @classmethod
    def read(cls, results: Path, study: str) -> Results:
        """Whatever is stored of a study."""
        rows = read_rows(results, study)
        return cls(study, prepared(rows), pd.DataFrame(read_curves(results, study)))

    @property
    def empty(self) -> bool:
        return len(self.scores) == 0

    @property
    def paper(self) -> pd.DataFrame:
        """Rules in the paper's form, and baselines."""
        return self.scores[self.scores["form"] != "library"]

    @property
    def library(self) -> pd.DataFrame:
        """Rules in the library's default form."""
        return self.scores[self.scores["form"] == "library"]


def prepared(rows: list[Row]) -> pd.DataFrame:
    """Scores with every column that pages use, and the sum of fit and prediction: the paper's computing time."""
    if not rows:
        return pd.DataFrame()
    scores = pd.DataFrame(rows)
    missing = dict.fromkeys([name for name in COMMITTEE_COLUMNS if name not in scores])
    totals = {f"total_{kind}_s": scores[f"fit_{kind}_s"] + scores[f"predict_{kind}_s"] for kind in ("wall", "cpu")}
    return scores.assign(**missing, **totals)


def published(dataset: str, source: str) -> pd.DataFrame:
    """The paper's numbers of one table and data set: method, metric, mean, std."""
    numbers = pd.read_csv(PUBLISHED)
    return numbers[(numbers["dataset"] == dataset) & (numbers["source"] == source)]


def in_order(methods: pd.Series) -> list[str]:
    """The methods that occur, in the order of ``METHODS``."""
    present = set(methods)
    return [method for method in METHODS if method in present]
