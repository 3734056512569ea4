"""Results on disk: one Parquet file per run, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.paper.measure import Row

CURVES = "curves"


class Storable(Protocol):
    """A run's definition, as far as its file is concerned."""

    @property
    def study(self) -> str: ...

    @property
    def name(self) -> str: ...

    def settings(self) -> str:
        """All that decides the run's numbers."""
        ...


class StaleResultError(Exception):
    """A stored result was made by another definition than the present one."""


def result_file(results: Path, spec: Storable) -> Path:
    """Where a run's scores are."""
    return results / spec.study / f"{spec.name}.parquet"


def curves_file(results: Path, spec: Storable) -> Path:
    """Where a run's curves are."""
    return results / spec.study / CURVES / f"{spec.name}.parquet"


def is_done(results: Path, spec: Storable) -> bool:
    """Whether a run's result is there.

    Raises
    ------
    StaleResultError
        If it is there but was made with other settings.
    """
    file = result_file(results, spec)
    if not file.exists():
        return False
    made_with = pq.read_table(file, columns=["settings"])["settings"][0].as_py()
    if made_with != spec.settings():
        raise StaleResultError(
            f"{file.name} was made with other settings than the study has now. Remove it, or run with --redo.\n"
            f"  stored: {made_with}\n  now:    {spec.settings()}"
        )
    return True


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    """Write a table; a file under the final name is always complete."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        pq.write_table(pa.Table.from_pylist(list(rows)), temporary)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def read_rows(results: Path, study: str) -> list[Row]:
    """Rows of all scores of a study, file after file by name."""
    files = sorted((results / study).glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def read_curves(results: Path, study: str) -> list[Row]:
    """Rows of all curves of a study."""
    return read_rows(results / study, CURVES)
