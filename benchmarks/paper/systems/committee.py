"""A committee in the paper's configuration: one fit, then every rule, in passes that are timed one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.paper.clock import timed
from benchmarks.paper.systems import Form, Predicted
from benchmarks.paper.systems.details import committee_details
from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.aggregation import PAPER_RULES, RULES, Rule
from gpcommittee.baselines import FullGP
from gpcommittee.kernels import make_kernel
from gpcommittee.records import FloatArray, Prediction

Labelled = tuple[str, Form, Rule]

PASSES: tuple[tuple[str, ...], ...] = (("poe", "gpoe", "bcm", "rbcm"), ("grbcm",), ("communication",))
"""Rules that cost the same work share a pass, so that its time is the time of each."""

SINGLE_FORM = ("communication", "npae")
"""Rules of which the library's default form gives the paper's numbers."""


@dataclass(frozen=True)
class Known:
    """Hyperparameters of a squared exponential kernel in one dimension that are given, in the data's own units."""

    lengthscale: float
    signal_variance: float
    noise_variance: float


@dataclass(frozen=True)
class CommitteeSystem:
    """All additive rules in the paper's and in the library's form; NPAE and the exact GP where asked for.

    The exact GP uses the hyperparameters that the committee learned.
    """

    n_experts: int
    partition: str = "kmeans"
    npae: bool = False
    exact: bool = False
    max_evaluations: int = 500
    known: Known | None = None

    def fit(self, X: FloatArray, y: FloatArray, seed: int, n_jobs: int) -> FittedCommittee:
        model = paper_committee(self.n_experts, random_state=seed)
        model.set_params(partition=self.partition, max_evaluations=self.max_evaluations, n_jobs=n_jobs)
        if self.known is not None:
            model.set_params(**given(self.known, X, y))
        model.fit(X, y)
        return FittedCommittee(model, (X, y) if self.exact else None, self.npae)

    def shrunk(self) -> CommitteeSystem:
        return replace(self, n_experts=min(self.n_experts, 4), max_evaluations=3)


@dataclass(frozen=True)
class FittedCommittee:
    model: CommitteeRegressor
    exact_on: tuple[FloatArray, FloatArray] | None
    npae: bool

    def predict(self, X: FloatArray) -> list[Predicted]:
        passes = [*PASSES, ("npae",)] if self.npae else PASSES
        results = [result for names in passes for result in self._pass(labelled(names), X)]
        return [*results, self._exact(X)] if self.exact_on else results

    def details(self) -> Mapping[str, object]:
        return committee_details(self.model)

    def _pass(self, rules: Sequence[Labelled], X: FloatArray) -> list[Predicted]:
        predictions, elapsed = timed(lambda: self.model.predict_rules(X, [rule for _, _, rule in rules]))
        return [
            Predicted(method, form, prediction.mean, deviation(prediction), elapsed)
            for (method, form, _), prediction in zip(rules, predictions, strict=True)
        ]

    def _exact(self, X: FloatArray) -> Predicted:
        assert self.exact_on is not None
        as_learned = CommitteeRegressor(
            self.model.kernel_, noise_variance=self.model.noise_variance_, optimizer=None, n_jobs=self.model.n_jobs
        )
        rows, target = self.exact_on
        (mean, std), elapsed = timed(lambda: FullGP(as_learned).fit(rows, target).predict(X))
        return Predicted("full_gp", "baseline", mean, std, elapsed)


def labelled(names: Sequence[str]) -> list[Labelled]:
    """Rules of a pass: the paper's form of each, then the library's where it differs."""
    library: list[Labelled] = [(name, "library", RULES[name]) for name in names if name not in SINGLE_FORM]
    return [*((name, "paper", PAPER_RULES[name]) for name in names), *library]


def deviation(prediction: Prediction) -> FloatArray:
    """Standard deviation of a new observation."""
    assert prediction.var_noisy is not None
    return np.sqrt(prediction.var_noisy)


def given(known: Known, X: FloatArray, y: FloatArray) -> dict[str, object]:
    """Estimator settings that keep the known hyperparameters, on standardised data."""
    kernel = make_kernel("squared_exponential", 1).initialize(
        **{
            "base_kernel.lengthscale": known.lengthscale / X.std(ddof=1),
            "outputscale": known.signal_variance / y.var(ddof=1),
        }
    )
    return {"kernel": kernel, "noise_variance": known.noise_variance / y.var(ddof=1), "optimizer": None}
