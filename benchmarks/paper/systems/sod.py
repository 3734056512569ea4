"""Subset of data, as section 4.2 runs it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.paper.systems.details import committee_details
from benchmarks.paper.systems.fitted import FittedBaselineSystem
from gpcommittee import paper_committee
from gpcommittee.baselines import SubsetOfData
from gpcommittee.records import FloatArray


@dataclass(frozen=True)
class SODSystem:
    """The exact GP on ``n_subset`` rows."""

    n_subset: int
    max_evaluations: int = 500

    def fit(self, X: FloatArray, y: FloatArray, seed: int, n_jobs: int) -> FittedBaselineSystem:
        committee = paper_committee(1).set_params(max_evaluations=self.max_evaluations, n_jobs=n_jobs)
        fitted = SubsetOfData(self.n_subset, seed, committee).fit(X, y)
        return FittedBaselineSystem("sod", fitted, committee_details(fitted.model))

    def shrunk(self) -> SODSystem:
        return replace(self, n_subset=50, max_evaluations=3)
