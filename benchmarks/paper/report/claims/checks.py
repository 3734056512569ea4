"""Checks that several claims share."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.paper.report.claims import NotRunError, Verdict


def means(scores: pd.DataFrame, metric: str) -> dict[str, float]:
    """Mean of a metric by method.

    Raises
    ------
    NotRunError
        If there is none.
    """
    if scores.empty or metric not in scores:
        raise NotRunError("no such runs")
    return {str(method): float(value) for method, value in scores.groupby("method")[metric].mean().items()}


def of(values: dict[str, float], methods: Sequence[str]) -> list[float]:
    """Values of the methods named.

    Raises
    ------
    NotRunError
        If one of them is missing.
    """
    missing = [method for method in methods if method not in values]
    if missing:
        raise NotRunError(", ".join(missing))
    return [values[method] for method in methods]


def first_within(scores: pd.DataFrame, metric: str, method: str, rivals: Sequence[str]) -> Verdict:
    """Whether a method is first of those present, or within one standard deviation of the first (of its own runs)."""
    mean = {name: value for name, value in means(scores, metric).items() if name in (method, *rivals)}
    own = of(mean, [method])[0]
    best = min(mean, key=mean.__getitem__)
    deviation = scores.loc[scores["method"] == method, metric].std()
    slack = 0.0 if pd.isna(deviation) else float(deviation)
    listed = ", ".join(f"{name} {value:.4g}" for name, value in sorted(mean.items(), key=lambda item: item[1]))
    return Verdict(own <= mean[best] + slack, f"{metric.upper()}: {listed}; σ {slack:.2g}")


def both(*verdicts: Verdict) -> Verdict:
    """All of several."""
    return Verdict(all(v.holds for v in verdicts), "; ".join(v.evidence for v in verdicts))


def beats(scores: pd.DataFrame, method: str, rival: str) -> Verdict:
    """Whether a method is below a rival in SMSE and in MSLL."""
    verdicts = []
    for metric in ("smse", "msll"):
        own, other = of(means(scores, metric), (method, rival))
        verdicts.append(Verdict(own < other, f"{metric.upper()} {own:.4g} against {other:.4g}"))
    return both(*verdicts)
