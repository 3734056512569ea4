"""What the command may change of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Sizes and repeats.

    Attributes
    ----------
    repeats : int
        Of each measurement of likelihood and moments.
    size : int
        Rows of an expert there.
    predictions : int
        Of a single row.
    experts : tuple of int
        Numbers of experts in ``scaling``.
    expert_size : int
        Rows of an expert there.
    test_rows : int
        Test points there.
    rows, plan_test_rows : int
        Training and test rows of geoid and electric in ``plan``.
    kin40k_rows : int or None
        Training rows of kin40k. None: all.
    max_evaluations : int or None
        Of the fits in ``latency`` and ``plan``. None: the library's own.
    data : pathlib.Path or None
        Folder of data files instead of GPCOMMITTEE_DATA.
    """

    repeats: int = 9
    size: int = 625
    predictions: int = 1000
    experts: tuple[int, ...] = (64, 128, 256, 512, 1024)
    expert_size: int = 500
    test_rows: int = 2_048
    rows: int = 50_000
    plan_test_rows: int = 20_000
    kin40k_rows: int | None = None
    max_evaluations: int | None = None
    data: Path | None = None


SMOKE = Options(
    repeats=2,
    size=60,
    predictions=10,
    experts=(3, 6),
    expert_size=60,
    test_rows=100,
    rows=600,
    plan_test_rows=200,
    kin40k_rows=600,
    max_evaluations=3,
)
"""Every benchmark in seconds."""
