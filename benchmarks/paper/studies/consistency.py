"""Propositions 1, 2 and 3 by experiment: n grows, experts and their sizes grow as its square root.

The hyperparameters are held at fixed values, the noise at its true variance, so that only the rules change the limits.
"""

from __future__ import annotations

import math

from benchmarks.paper.options import Options
from benchmarks.paper.spec import DataSpec, RunSpec
from benchmarks.paper.systems.committee import CommitteeSystem, Known
from gpcommittee.datasets.toy import NOISE_VARIANCE

SIZES = (400, 1600, 6400, 25_600, 102_400, 409_600)
PARTITIONS = ("random", "kmeans")
REPEATS = 3

KNOWN = Known(lengthscale=0.16, signal_variance=9.0, noise_variance=NOISE_VARIANCE)
"""What factorised training learns from 10,000 rows of the toy function (study toy), rounded; the noise is exact."""


def consistency_runs(options: Options) -> list[RunSpec]:
    """One run per size, partition and repeat."""
    return [
        _run(n, partition, repeat)
        for n in options.sizes or SIZES
        for partition in PARTITIONS
        for repeat in range(options.count(REPEATS))
    ]


def _run(n: int, partition: str, repeat: int) -> RunSpec:
    system = CommitteeSystem(math.isqrt(n), partition, known=KNOWN)
    data = DataSpec("toy_interior", rows=n, seed=repeat)
    name = f"consistency-n{n}-{partition}-r{repeat:02d}"
    return RunSpec("consistency", name, data, system, repeat, measure="limits")
