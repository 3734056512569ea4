"""The medium-scale data sets (section 4.2, Figs. 4, 5 and 6; appendix E, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper.options import Options, size_tag
from benchmarks.paper.spec import DataSpec, RunSpec
from benchmarks.paper.systems import System
from benchmarks.paper.systems.committee import CommitteeSystem
from benchmarks.paper.systems.fitc import FITCSystem
from benchmarks.paper.systems.sod import SODSystem
from benchmarks.paper.systems.svi import SVISystem
from gpcommittee.datasets import load_sarcos
from gpcommittee.errors import DatasetNotFoundError

REPEATS = 10
SVI_ITERATIONS = 1200
BATCH_SHARE = 0.1


@dataclass(frozen=True)
class Medium:
    """A data set of section 4.2: its rows, its numbers of experts (Fig. 4 has the first), sizes of the others."""

    name: str
    rows: int
    experts: tuple[int, ...]
    inducing: int
    subset: int


KIN40K = Medium("kin40k", 10_000, (16, 8, 64), inducing=200, subset=2500)
SARCOS = Medium("sarcos", 44_484, (72, 36, 288), inducing=300, subset=3000)
SARCOS_AT_HAND = Medium("sarcos", 4_000, (16, 8, 64), inducing=300, subset=3000)
"""Rows of the test file alone, in experts of about 250 rows; half and four times as many as in the paper's Fig. 5."""


def kin40k_runs(options: Options) -> list[RunSpec]:
    """kin40k in its original split."""
    return medium_runs(KIN40K, options)


def sarcos_runs(options: Options) -> list[RunSpec]:
    """The paper's split of sarcos if both files are there, else a split of the test file."""
    return medium_runs(SARCOS if _training_file_at_hand(options) else SARCOS_AT_HAND, options)


def medium_runs(study: Medium, options: Options) -> list[RunSpec]:
    """Every system of Figs. 4 to 6 and Table 2, repeat after repeat."""
    systems = medium_systems(study, options)
    data = DataSpec(study.name, options.rows, options.test_rows)
    prefix = f"{study.name}-{size_tag(options, study.rows)}"
    return [
        RunSpec(study.name, f"{prefix}-{tag}-r{repeat:02d}", data, system, repeat)
        for repeat in range(options.count(REPEATS))
        for tag, system in systems.items()
    ]


def medium_systems(study: Medium, options: Options) -> dict[str, System]:
    """Systems by the tag that their runs' names carry."""
    n = options.rows or study.rows
    main, *others = (options.experts(count, study.rows) for count in study.experts)
    inducing, subset = min(study.inducing, n // 2), min(study.subset, n)
    return {
        f"m{main}-kmeans": CommitteeSystem(main, npae=True),
        f"fitc-m{inducing}": FITCSystem(inducing),
        f"svi-m{inducing}": SVISystem(inducing, round(BATCH_SHARE * n), SVI_ITERATIONS),
        f"sod-m{subset}": SODSystem(subset),
        **{f"m{count}-kmeans": CommitteeSystem(count) for count in others},
        f"m{main}-random": CommitteeSystem(main, partition="random"),
    }


def _training_file_at_hand(options: Options) -> bool:
    try:
        return len(load_sarcos(options.data).y_train) > SARCOS_AT_HAND.rows
    except DatasetNotFoundError:
        return False
