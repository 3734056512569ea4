"""The library: `CommitteeRegressor`, or the paper's configuration of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.paper.systems.details import committee_details
from benchmarks.peers.systems import Vector
from gpcommittee import CommitteeRegressor, paper_committee


def fit(X: Vector, y: Vector, seed: int, *, paper: int | None = None, **settings: Any) -> FittedCommittee:
    """``paper`` is a number of experts and stands for `paper_committee`; other settings are the estimator's own."""
    model = CommitteeRegressor() if paper is None else paper_committee(paper)
    return FittedCommittee(model.set_params(**settings, random_state=seed, n_jobs=1).fit(X, y))


@dataclass(frozen=True)
class FittedCommittee:
    model: CommitteeRegressor

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        mean, std = self.model.predict(X, return_std=True)
        return mean, std**2

    def learned(self) -> dict[str, object]:
        return committee_details(self.model)
