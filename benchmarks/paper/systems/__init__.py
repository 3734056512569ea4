"""The systems that are compared: each fits once and predicts with one or more methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass
from typing import Any, ClassVar, Literal, Protocol

from benchmarks.paper.clock import Elapsed
from gpcommittee.records import FloatArray

Form = Literal["paper", "library", "baseline"]
"""The paper's form of a rule (noisy variances combined), the library's default form of it, or another system."""


@dataclass(frozen=True)
class Predicted:
    """Predictions of one method, and the time of the pass that made them."""

    method: str
    form: Form
    mean: FloatArray
    std: FloatArray
    elapsed: Elapsed


class Fitted(Protocol):
    """What a system becomes by fitting."""

    def predict(self, X: FloatArray) -> list[Predicted]:
        """One result per method."""
        ...

    def details(self) -> Mapping[str, object]:
        """What was learned, ready for JSON."""
        ...


class System(Protocol):
    """Settings of a system; a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def fit(self, X: FloatArray, y: FloatArray, seed: int, n_jobs: int) -> Fitted:
        """Learn from data on ``n_jobs`` threads."""
        ...

    def shrunk(self) -> System:
        """The same system at a size of seconds."""
        ...
