"""Runs of the paper's studies at a size of a fraction of a second."""

from __future__ import annotations

from benchmarks.paper.spec import DataSpec, RunSpec
from benchmarks.paper.systems import System
from benchmarks.paper.systems.committee import CommitteeSystem, Known
from benchmarks.paper.systems.sod import SODSystem


def toy_run(n: int = 120, repeat: int = 0, **system: object) -> RunSpec:
    """A toy run of a fraction of a second."""
    settings: dict[str, object] = {"n_experts": 3, "max_evaluations": 2, "npae": True, "exact": True} | system
    data = DataSpec("toy", rows=n, test_rows=20, seed=repeat, grid=repeat == 0)
    return RunSpec("toy", f"toy-n{n}-r{repeat:02d}", data, CommitteeSystem(**settings), repeat)  # type: ignore[arg-type]


def limits_run(n: int, partition: str) -> RunSpec:
    """A run of the consistency study of a fraction of a second."""
    system = CommitteeSystem(4, partition, known=Known(0.16, 9.0, 0.25))
    data = DataSpec("toy_interior", rows=n)
    return RunSpec("consistency", f"consistency-n{n}-{partition}", data, system, measure="limits")


def medium_like_runs(study: str) -> list[RunSpec]:
    """Runs named and built like those of a study with files, on the toy data."""
    systems: dict[str, System] = {
        "m3-kmeans": CommitteeSystem(3, npae=True, max_evaluations=2),
        "m6-kmeans": CommitteeSystem(6, max_evaluations=2),
        "m3-random": CommitteeSystem(3, "random", max_evaluations=2),
        "sod": SODSystem(40, max_evaluations=2),
    }
    data = DataSpec("toy", rows=120, test_rows=20)
    return [RunSpec(study, f"{study}-{tag}", data, system) for tag, system in systems.items()]
