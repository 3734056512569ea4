"""Propositions 1, 2 and 3 as statements about the smallest and the largest n that ran."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from benchmarks.paper.report.claims import Claim, NotRunError, Verdict
from benchmarks.paper.report.claims.checks import both

NEAR = 0.1
"""Distance from a limit that counts as near it at the largest n."""


def _trend(scores: pd.DataFrame, partition: str, method: str, metric: str) -> tuple[float, float]:
    """Mean of a measure at the smallest and at the largest n."""
    chosen = scores[(scores["partition"] == partition) & (scores["method"] == method)]
    by_n = chosen.groupby("n_train")[metric].mean()
    if len(by_n) < 2:
        raise NotRunError("two sizes are needed")
    return float(by_n.iloc[0]), float(by_n.iloc[-1])


def _vanishes(partition: str, method: str) -> Callable[[pd.DataFrame], Verdict]:
    def check(scores: pd.DataFrame) -> Verdict:
        first, last = _trend(scores, partition, method, "variance_ratio")
        return Verdict(last < first and last < 1, f"{method}: {first:.3g} to {last:.3g}")

    return check


def _reaches(partition: str, method: str, metric: str, limit: float = 1.0) -> Callable[[pd.DataFrame], Verdict]:
    def check(scores: pd.DataFrame) -> Verdict:
        first, last = _trend(scores, partition, method, metric)
        nearer = abs(last - limit) <= abs(first - limit)
        return Verdict(nearer and abs(last - limit) < NEAR, f"{method}: {first:.4g} to {last:.4g}")

    return check


def _slope_of_bcm(method: str) -> Callable[[pd.DataFrame], Verdict]:
    def check(scores: pd.DataFrame) -> Verdict:
        prior = float(scores["prior_ratio"].mean())
        a = prior / (prior - 1)
        verdict = _reaches("random", method, "mean_slope", a)(scores)
        return Verdict(verdict.holds, f"{verdict.evidence}, a = {a:.4g}")

    return check


def _conservative(scores: pd.DataFrame) -> Verdict:
    _, last = _trend(scores, "kmeans", "gpoe", "variance_ratio")
    prior = float(scores["prior_ratio"].mean())
    return Verdict(1 + NEAR < last < prior, f"gpoe: {last:.3g}, between noise 1 and prior {prior:.3g}")


def _all(*checks: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    return lambda scores: both(*(check(scores) for check in checks))


OVERCONFIDENT = ("poe", "bcm", "rbcm")

CONSISTENCY_CLAIMS = (
    Claim(
        "Prop. 1",
        "Disjoint partition: the variance of PoE and (R)BCM goes to 0",
        _all(*(_vanishes("kmeans", method) for method in OVERCONFIDENT)),
    ),
    Claim("Prop. 1", "Disjoint partition: the variance of GPoE stays between noise and prior", _conservative),
    Claim(
        "Prop. 2",
        "Random partition: the variance of PoE and (R)BCM goes to 0",
        _all(*(_vanishes("random", method) for method in OVERCONFIDENT)),
    ),
    Claim(
        "Prop. 2",
        "Random partition: the variance of GPoE goes to the noise, its mean to the function",
        _all(_reaches("random", "gpoe", "variance_ratio"), _reaches("random", "gpoe", "mean_slope")),
    ),
    Claim(
        "Prop. 2",
        "Random partition: the mean of (R)BCM goes to a times the function",
        _all(_slope_of_bcm("bcm"), _slope_of_bcm("rbcm")),
    ),
    *(
        Claim(
            "Prop. 3",
            f"{title}: the variance of GRBCM goes to the noise, its mean to the function",
            _all(_reaches(partition, "grbcm", "variance_ratio"), _reaches(partition, "grbcm", "mean_slope")),
        )
        for partition, title in (("kmeans", "Disjoint partition"), ("random", "Random partition"))
    ),
)
