"""Claims about kin40k and sarcos (section 4.2, appendix E)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.paper.report.claims import Claim, NotRunError, Verdict
from benchmarks.paper.report.claims.checks import beats, both, first_within, means, of

ADDITIVE = ("poe", "gpoe", "bcm", "rbcm", "grbcm")
SYSTEMS = (*ADDITIVE, "fitc", "svi", "sod")


def main_experts(scores: pd.DataFrame) -> int:
    """Number of experts of Fig. 4: that of the committee with NPAE, else the first."""
    committees = scores.dropna(subset=["n_experts"])
    with_npae = committees[committees["npae"] == True]  # noqa: E712
    chosen = with_npae if len(with_npae) else committees
    return int(chosen["n_experts"].iloc[0]) if len(chosen) else 0


def main_systems(scores: pd.DataFrame) -> pd.DataFrame:
    """Rows of Fig. 4."""
    committee = (scores["n_experts"] == main_experts(scores)) & (scores["partition"] == "kmeans")
    return scores[committee | scores["n_experts"].isna()]


def _first(scores: pd.DataFrame, rivals: Sequence[str]) -> Verdict:
    main = main_systems(scores)
    return both(*(first_within(main, metric, "grbcm", rivals) for metric in ("smse", "msll")))


def _best_of_all(scores: pd.DataFrame) -> Verdict:
    of(means(main_systems(scores), "smse"), SYSTEMS)
    return _first(scores, SYSTEMS)


def _bcm_means(scores: pd.DataFrame) -> Verdict:
    return _ordered(scores, "smse", ("bcm", "rbcm"), ("fitc", "sod"))


def _bcm_overconfident(scores: pd.DataFrame) -> Verdict:
    z = means(main_systems(scores), "mean_squared_z")
    bcm, rbcm = of(z, ("bcm", "rbcm"))
    return Verdict(min(bcm, rbcm) > 1, f"mean squared z: BCM {bcm:.3g}, RBCM {rbcm:.3g}")


def _poe_means(scores: pd.DataFrame) -> Verdict:
    return _ordered(scores, "smse", ("bcm", "rbcm", "grbcm"), ("poe", "gpoe"))


def _gpoe_density(scores: pd.DataFrame) -> Verdict:
    return _ordered(scores, "msll", ("gpoe",), ("poe", "bcm", "rbcm"))


def _sod(scores: pd.DataFrame) -> Verdict:
    return both(*(_ordered(scores, metric, ("sod",), ("fitc", "svi")) for metric in ("smse", "msll")))


def _ordered(scores: pd.DataFrame, metric: str, lower: Sequence[str], higher: Sequence[str]) -> Verdict:
    """Whether every one of ``lower`` is below every one of ``higher``."""
    values = means(main_systems(scores), metric)
    holds = max(of(values, lower)) < min(of(values, higher))
    listed = ", ".join(f"{name} {values[name]:.4g}" for name in (*lower, *higher))
    return Verdict(holds, f"{metric.upper()}: {listed}")


def _by_experts(scores: pd.DataFrame) -> pd.DataFrame:
    disjoint = scores[(scores["partition"] == "kmeans") & scores["method"].isin(ADDITIVE)]
    table = disjoint.groupby(["n_experts", "method"])[["smse", "msll"]].mean().unstack()
    if len(table) < 2:
        raise NotRunError("other numbers of experts")
    return table


def _worse_with_experts(scores: pd.DataFrame) -> Verdict:
    table = _by_experts(scores)
    rising = table.diff().iloc[1:] > 0
    falling = [f"{method} ({metric.upper()})" for metric, method in rising.columns[~rising.all()]]
    return Verdict(not falling, f"not so for {', '.join(falling)}" if falling else "every rule, both measures")


def _best_at_every_number(scores: pd.DataFrame) -> Verdict:
    table = _by_experts(scores)
    best = {metric: table[metric].idxmin(axis=1) for metric in ("smse", "msll")}
    evidence = "; ".join(f"{int(m)} experts: {best['smse'][m]} (SMSE), {best['msll'][m]} (MSLL)" for m in table.index)
    return Verdict(all((winners == "grbcm").all() for winners in best.values()), evidence)


def _partitions(scores: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    same = scores[scores["n_experts"] == main_experts(scores)]
    disjoint, random = (means(same[same["partition"] == name], "smse") for name in ("kmeans", "random"))
    return disjoint, random


def _disjoint_better(scores: pd.DataFrame) -> Verdict:
    disjoint, random = _partitions(scores)
    pairs = list(zip(ADDITIVE, of(disjoint, ADDITIVE), of(random, ADDITIVE), strict=True))
    evidence = ", ".join(f"{name} {apart:.4g} / {drawn:.4g}" for name, apart, drawn in pairs)
    return Verdict(all(apart < drawn for _, apart, drawn in pairs), f"SMSE disjoint / random: {evidence}")


def _above_gpoe_when_random(scores: pd.DataFrame) -> Verdict:
    same = scores[(scores["n_experts"] == main_experts(scores)) & (scores["partition"] == "random")]
    return beats(same, "grbcm", "gpoe")


def _grbcm_above_npae(scores: pd.DataFrame) -> Verdict:
    return beats(main_systems(scores), "grbcm", "npae")


def _npae_above_grbcm(scores: pd.DataFrame) -> Verdict:
    return beats(main_systems(scores), "npae", "grbcm")


def medium_claims(dataset: str) -> list[Claim]:
    """The sentences that are about a data set."""
    on_kin40k = dataset == "kin40k"
    sod = [Claim("Fig. 4", "SOD outperforms FITC and SVI", _sod)] if on_kin40k else []
    npae = (
        Claim("Table 2", "GRBCM performs slightly better than NPAE", _grbcm_above_npae)
        if on_kin40k
        else Claim("Table 2", "NPAE performs better than GRBCM", _npae_above_grbcm)
    )
    return [
        Claim(
            "Fig. 4",
            "GRBCM is first of the aggregations in SMSE and MSLL, or within one σ of it",
            lambda scores: _first(scores, ADDITIVE),
        ),
        Claim("Fig. 4", "GRBCM provides the best performance of all systems in SMSE and MSLL", _best_of_all),
        Claim("Fig. 4", "(R)BCM provide a better mean than FITC and SOD", _bcm_means),
        Claim("Fig. 4", "(R)BCM provide overconfident variances", _bcm_overconfident),
        Claim("Fig. 4", "(G)PoE suffer from a poor mean", _poe_means),
        Claim("Fig. 4", "GPoE performs well in MSLL (read as: better than PoE and (R)BCM)", _gpoe_density),
        *sod,
        Claim("Fig. 5", "All the aggregations perform worse with increasing M", _worse_with_experts),
        Claim("Fig. 5", "GRBCM yields the best performance with different M", _best_at_every_number),
        Claim("Fig. 6", "The disjoint partition is more beneficial", _disjoint_better),
        Claim("Fig. 6", "Even with the random partition, GRBCM outperforms GPoE", _above_gpoe_when_random),
        npae,
    ]
