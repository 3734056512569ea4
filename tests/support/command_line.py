"""Running the command line in this process, and small tables for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from gpcommittee.cli import app
from gpcommittee.records import FloatArray

FIT = ("--expert-size", "80", "--jobs", "1", "--max-evaluations", "60")
SETTINGS: dict[str, Any] = {"expert_size": 80, "n_jobs": 1, "max_evaluations": 60, "random_state": 0}
"""The same in Python."""


def run(*arguments: str | Path, code: int = 0) -> Result:
    """Run a command; fails unless it ends with the exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="gpcommittee")
    assert result.exit_code == code, (arguments, result.output, result.exception)
    return result


def make_table(n_rows: int = 240, seed: int = 0) -> pa.Table:
    """Columns a, b and y, with noise of standard deviation 0.1 in y."""
    generator = np.random.default_rng(seed)
    a, b = generator.uniform(size=(2, n_rows))
    return pa.table({"a": a, "b": b, "y": np.sin(6 * a) + b + 0.1 * generator.standard_normal(n_rows)})


def with_gaps(table: pa.Table, column: str, rows: list[int]) -> pa.Table:
    """The table with missing values."""
    values = table[column].to_pylist()
    gaps = pa.array([None if row in rows else value for row, value in enumerate(values)], pa.float64())
    return table.set_column(table.column_names.index(column), column, gaps)


def write(table: pa.Table, path: Path) -> Path:
    """A table as CSV or Parquet, by the ending."""
    pa_csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path)
    return path


def read(path: Path) -> pa.Table:
    """What `write` wrote."""
    return pa_csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)


def values(table: pa.Table, *columns: str) -> FloatArray:
    """Columns of a table, shape (n_rows, n_columns); NaN where missing."""
    arrays = [table[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for name in columns]
    return np.column_stack(arrays)
