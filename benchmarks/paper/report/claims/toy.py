"""Claims about the toy example (section 4.1, appendix D)."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from benchmarks.paper.report.claims import Claim, NotRunError, Verdict
from benchmarks.paper.report.claims.checks import beats, both, first_within, means, of
from benchmarks.paper.report.results import AGGREGATIONS


def _each_n(scores: pd.DataFrame, check: Callable[[pd.DataFrame], Verdict]) -> Verdict:
    """A check at every n."""
    verdicts = [(n, check(group)) for n, group in scores.groupby("n_train")]
    evidence = "; ".join(f"n = {n:,}: {verdict.evidence}" for n, verdict in verdicts)
    return Verdict(all(verdict.holds for _, verdict in verdicts), evidence)


def _better_with_n(method: str) -> Callable[[pd.DataFrame], Verdict]:
    def check(scores: pd.DataFrame) -> Verdict:
        means_by_n = scores[scores["method"] == method].groupby("n_train")[["smse", "msll"]].mean()
        if len(means_by_n) < 2:
            raise NotRunError("two sizes are needed")
        first, last = means_by_n.iloc[0], means_by_n.iloc[-1]
        sizes = f"n = {means_by_n.index[0]:,} to {means_by_n.index[-1]:,}"
        values = f"SMSE {first.smse:.4g} to {last.smse:.4g}, MSLL {first.msll:.4g} to {last.msll:.4g}"
        return Verdict(bool((last <= first).all()), f"{sizes}: {values}")

    return check


def _poe_worst(scores: pd.DataFrame) -> Verdict:
    def check(group: pd.DataFrame) -> Verdict:
        msll = means(group, "msll")
        present = [name for name in AGGREGATIONS if name in msll]
        worst = max(present, key=msll.__getitem__)
        return Verdict(worst == "poe", f"largest MSLL: {worst} {msll[worst]:.4g}")

    return _each_n(scores, check)


def _above_global_expert(scores: pd.DataFrame) -> Verdict:
    return _each_n(scores, lambda group: beats(group, "grbcm", "communication"))


def _first(scores: pd.DataFrame) -> Verdict:
    """Judged at the sizes that ran more than once: one run has no standard deviation."""

    def check(group: pd.DataFrame) -> Verdict:
        if group["repeat"].nunique() < 2:
            return Verdict(True, "one run, not judged")
        return both(*(first_within(group, metric, "grbcm", AGGREGATIONS) for metric in ("smse", "msll")))

    return _each_n(scores, check)


def _npae_slow(scores: pd.DataFrame) -> Verdict:
    def check(group: pd.DataFrame) -> Verdict:
        base, grbcm, npae = of(means(group, "predict_cpu_s"), ["poe", "grbcm", "npae"])
        return Verdict(base < grbcm < npae, f"(G)PoE {base:.1f} s, GRBCM {grbcm:.1f} s, NPAE {npae:.1f} s")

    return _each_n(scores[scores["npae"]], check)


def _poorer(scores: pd.DataFrame) -> Verdict:
    verdict = _better_with_n("communication")(scores)
    return Verdict(not verdict.holds, verdict.evidence)


TOY_CLAIMS = (
    Claim("Fig. 2", "GRBCM is first of the aggregations in SMSE and MSLL, or within one σ of it", _first),
    Claim("Fig. 2", "GRBCM yields better predictions with increasing n", _better_with_n("grbcm")),
    Claim("Fig. 2", "NPAE yields better predictions with increasing n", _better_with_n("npae")),
    Claim("Fig. 2", "PoE always has the largest MSLL", _poe_worst),
    Claim("Fig. 2", "GRBCM predicts a little slower than (G)PoE and (R)BCM, NPAE far slower", _npae_slow),
    Claim("Fig. 7", "GRBCM always outperforms M_c", _above_global_expert),
    Claim("Fig. 7", "The predictions of M_c generally become poorer with increasing n", _poorer),
)
