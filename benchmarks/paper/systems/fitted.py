"""A fitted baseline as a system with one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.paper.clock import timed
from benchmarks.paper.systems import Predicted
from gpcommittee.baselines import FittedBaseline
from gpcommittee.records import FloatArray


@dataclass(frozen=True)
class FittedBaselineSystem:
    method: str
    fitted: FittedBaseline
    learned: Mapping[str, object]

    def predict(self, X: FloatArray) -> list[Predicted]:
        (mean, std), elapsed = timed(lambda: self.fitted.predict(X))
        return [Predicted(self.method, "baseline", mean, std, elapsed)]

    def details(self) -> Mapping[str, object]:
        return self.learned
