"""What a run is: data, system, repeat and what is measured. Frozen, and comparable by its settings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal

from benchmarks.paper.systems import System

Measure = Literal["scores", "limits"]

SMOKE_ROWS, SMOKE_TEST_ROWS = 300, 60


@dataclass(frozen=True)
class DataSpec:
    """Which rows are learned from and predicted.

    ``rows`` and ``test_rows`` cut the data set (None: all of it). ``seed`` decides a drawn data set or split. ``grid``
    asks for curves over [-0.2, 1.2] beside the scores.
    """

    name: str
    rows: int | None = None
    test_rows: int | None = None
    seed: int = 0
    grid: bool = False


@dataclass(frozen=True)
class RunSpec:
    """One fit and its predictions; ``repeat`` seeds whatever the system draws."""

    study: str
    name: str
    data: DataSpec
    system: System
    repeat: int = 0
    measure: Measure = "scores"

    def settings(self) -> str:
        """All that decides the run's numbers, as JSON."""
        decisive = {
            "data": asdict(self.data),
            "system": {"class": type(self.system).__name__, **asdict(self.system)},
            "repeat": self.repeat,
            "measure": self.measure,
        }
        return json.dumps(decisive, sort_keys=True)


def smoke(spec: RunSpec) -> RunSpec:
    """The same run at a size of seconds: it proves the definition, its numbers mean nothing."""
    data = replace(spec.data, rows=SMOKE_ROWS, test_rows=SMOKE_TEST_ROWS)
    return replace(spec, name=f"{spec.name}-smoke", data=data, system=spec.system.shrunk())
