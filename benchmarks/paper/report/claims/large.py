"""Claims about electric and song (section 4.3)."""

from __future__ import annotations

import pandas as pd

from benchmarks.paper.report.claims import Claim, Verdict
from benchmarks.paper.report.claims.checks import beats, both, first_within, means, of

ADDITIVE = ("poe", "gpoe", "bcm", "rbcm", "grbcm")


def _first(scores: pd.DataFrame) -> Verdict:
    return both(*(first_within(scores, metric, "grbcm", ADDITIVE) for metric in ("smse", "msll")))


def _bcm_below_poe(scores: pd.DataFrame) -> Verdict:
    poe, bcm, rbcm = of(means(scores, "smse"), ("poe", "bcm", "rbcm"))
    return Verdict(max(bcm, rbcm) < poe, f"SMSE: (G)PoE {poe:.4g}, BCM {bcm:.4g}, RBCM {rbcm:.4g}")


def _poe_below_bcm(scores: pd.DataFrame) -> Verdict:
    verdict = _bcm_below_poe(scores)
    return Verdict(not verdict.holds, verdict.evidence)


def _above_svi(scores: pd.DataFrame) -> Verdict:
    return beats(scores, "grbcm", "svi")


def _gpoe_small_msll(scores: pd.DataFrame) -> Verdict:
    gpoe, *rivals = of(means(scores, "msll"), ("gpoe", "poe", "bcm", "rbcm"))
    return Verdict(gpoe < min(rivals), f"MSLL: GPoE {gpoe:.4g}, least of PoE and (R)BCM {min(rivals):.4g}")


def large_claims(dataset: str) -> list[Claim]:
    """The sentences that are about a data set."""
    electric = [
        Claim("Table 1", "The SMSE of (R)BCM is much smaller than that of (G)PoE", _bcm_below_poe),
        Claim("Table 1", "GRBCM outperforms SVI", _above_svi),
    ]
    song = [Claim("Table 1", "The SMSE of (G)PoE is smaller than that of (R)BCM", _poe_below_bcm)]
    return [
        Claim("Table 1", "GRBCM outperforms the other aggregations in SMSE and MSLL", _first),
        Claim("Table 1", "GPoE has a smaller MSLL than PoE and (R)BCM", _gpoe_small_msll),
        *(electric if dataset == "electric" else song),
    ]
