"""The studies by name, each a function from options to runs."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.paper.options import Options
from benchmarks.paper.spec import RunSpec
from benchmarks.paper.studies.consistency import consistency_runs
from benchmarks.paper.studies.large import electric_runs, song_runs
from benchmarks.paper.studies.medium import kin40k_runs, sarcos_runs
from benchmarks.paper.studies.toy import toy_runs

STUDIES: dict[str, Callable[[Options], list[RunSpec]]] = {
    "toy": toy_runs,
    "kin40k": kin40k_runs,
    "sarcos": sarcos_runs,
    "electric": electric_runs,
    "song": song_runs,
    "consistency": consistency_runs,
}
