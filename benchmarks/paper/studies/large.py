"""The large data sets (section 4.3, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.options import Options, size_tag
from benchmarks.paper.spec import DataSpec, RunSpec
from benchmarks.paper.systems import System
from benchmarks.paper.systems.committee import CommitteeSystem
from benchmarks.paper.systems.svi import SVISystem

BATCH_SIZE = 5000


@dataclass(frozen=True)
class Large:
    """A data set of section 4.3; experts hold 625 rows."""

    name: str
    rows: int
    experts: int
    inducing: int
    iterations: int


ELECTRIC = Large("electric", 1_800_000, 2880, inducing=1000, iterations=1500)
SONG = Large("song", 450_000, 720, inducing=800, iterations=1300)


def electric_runs(options: Options) -> list[RunSpec]:
    """Household power by the minute."""
    return large_runs(ELECTRIC, options)


def song_runs(options: Options) -> list[RunSpec]:
    """The year of a song."""
    return large_runs(SONG, options)


def large_runs(study: Large, options: Options) -> list[RunSpec]:
    """The committee and SVI; the paper ran each once."""
    n, experts = options.rows or study.rows, options.experts(study.experts, study.rows)
    systems: dict[str, System] = {
        f"m{experts}-kmeans": CommitteeSystem(experts),
        f"svi-m{study.inducing}": SVISystem(study.inducing, min(BATCH_SIZE, n), study.iterations),
    }
    prefix = f"{study.name}-{size_tag(options, study.rows)}"
    return [
        RunSpec(
            study.name,
            f"{prefix}-{tag}-r{repeat:02d}",
            DataSpec(study.name, options.rows, options.test_rows, seed=repeat),
            system,
            repeat,
        )
        for repeat in range(options.count(1))
        for tag, system in systems.items()
    ]
