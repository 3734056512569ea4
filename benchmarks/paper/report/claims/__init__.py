"""What the paper's text says of its results, each sentence checked against ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.paper.report.page import table


class NotRunError(Exception):
    """The results that a claim is about are not stored."""


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, and the numbers that say so."""

    holds: bool
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, and its check."""

    source: str
    text: str
    check: Callable[[pd.DataFrame], Verdict]


def claims_table(claims: Sequence[Claim], scores: pd.DataFrame) -> str:
    """One row per claim."""
    rows = [[claim.text, claim.source, *_outcome(claim, scores)] for claim in claims]
    return table(["the paper", "where", "here", "evidence"], rows, text_columns=4)


def _outcome(claim: Claim, scores: pd.DataFrame) -> tuple[str, str]:
    try:
        verdict = claim.check(scores)
    except NotRunError as error:
        return "not run", str(error)
    return ("holds" if verdict.holds else "**does not hold**"), verdict.evidence
