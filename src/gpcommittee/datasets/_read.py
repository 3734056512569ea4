"""Reading the files of the regression data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.io
from numpy.typing import NDArray
from pyarrow import csv

from gpcommittee.data import ColumnPlan, open_table, read_table
from gpcommittee.errors import InvalidInputError
from gpcommittee.records import FloatArray


def read_columns(file: Path, features: Sequence[str], target: str) -> tuple[FloatArray, FloatArray]:
    """Inputs and target of a CSV or Parquet file, columns by name."""
    rows = read_table(open_table(file), ColumnPlan(tuple(features), target))
    if rows.y is None:
        raise InvalidInputError(f"{file.name!r} gave no target {target!r}.")
    return rows.X, rows.y


def read_text(file: Path, n_columns: int) -> FloatArray:
    """Numbers separated by white space, shape (n_rows, n_columns)."""
    try:
        values = np.loadtxt(file, ndmin=2)
    except ValueError as error:
        raise InvalidInputError(f"{file.name!r} is not a table of numbers: {error}.") from error
    return _checked(values, file, n_columns)


def read_headless_csv(file: Path, n_columns: int) -> FloatArray:
    """Numbers separated by commas, without a header line, shape (n_rows, n_columns)."""
    try:
        table = csv.read_csv(
            file,
            read_options=csv.ReadOptions(autogenerate_column_names=True),
            convert_options=csv.ConvertOptions(column_types={f"f{i}": pa.float64() for i in range(n_columns)}),
        )
        values = np.column_stack([np.asarray(column, dtype=np.float64) for column in table.columns])
    except ValueError as error:
        raise InvalidInputError(f"{file.name!r} is not a table of numbers: {error}.") from error
    return _checked(values, file, n_columns)


def read_matlab(file: Path, variable: str, n_columns: int) -> FloatArray:
    """One matrix of a MATLAB file, shape (n_rows, n_columns)."""
    try:
        content = scipy.io.loadmat(file, variable_names=[variable])
    except (ValueError, TypeError, NotImplementedError, OSError) as error:
        raise InvalidInputError(f"{file.name!r} is not a readable MATLAB file: {error}.") from error
    if variable not in content:
        raise InvalidInputError(f"{file.name!r} holds no matrix {variable!r}.")
    return _checked(np.asarray(content[variable], dtype=np.float64), file, n_columns)


def _checked(values: NDArray[Any], file: Path, n_columns: int) -> FloatArray:
    if values.ndim != 2 or values.shape[1] != n_columns or not np.isfinite(values).all():
        raise InvalidInputError(
            f"{file.name!r} must be a table of finite numbers with {n_columns} columns, got shape {values.shape} with "
            f"{int((~np.isfinite(values)).sum())} values that are not finite. Download it again."
        )
    return values
