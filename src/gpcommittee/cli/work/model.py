"""A model file together with the columns of the table that it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpcommittee.cli.work.talk import counted
from gpcommittee.data import ColumnPlan
from gpcommittee.errors import InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.persistence import read_metadata
from gpcommittee.records import FloatArray

COLUMNS = "columns"
"""Key of the column plan in a model file's metadata."""


@dataclass(frozen=True)
class NamedModel:
    """A fitted model that knows its columns.

    Attributes
    ----------
    path : pathlib.Path
    regressor : CommitteeRegressor
    columns : ColumnPlan
    """

    path: Path
    regressor: CommitteeRegressor
    columns: ColumnPlan

    def inputs(self, X: FloatArray) -> Any:
        """Rows as the regressor wants them: with column names if it was fitted with names."""
        return named_inputs(X, self.columns.feature_names) if hasattr(self.regressor, "feature_names_in_") else X


def named_inputs(X: FloatArray, names: Sequence[str]) -> pa.Table:
    """An array, shape (n_rows, n_features), as a table with column names; columns in one piece are not copied."""
    return pa.table({name: X[:, column] for column, name in enumerate(names)})


def open_model(
    path: Path, features: tuple[str, ...] | None, settings: Mapping[str, Any], engine: Any = None
) -> NamedModel:
    """Load a model and find out which columns it needs.

    Parameters
    ----------
    path : pathlib.Path
    features : tuple of str or None
        Columns in the model's order, for a model that does not know them.
    settings : mapping of str to object
        Instead of those in the file; None keeps the file's.
    engine : dask.distributed.Client, optional
        On which to predict.

    Raises
    ------
    ModelFileError
        If the file is no sound model file.
    InvalidParameterError
        If features are given and known, or needed and not given, or not as many as the model has.
    """
    regressor = CommitteeRegressor.load(path)
    given = {name: value for name, value in settings.items() if value is not None}
    regressor.set_params(verbose=0, engine=engine, **given)
    return NamedModel(path, regressor, _columns(path, regressor, features))


def _columns(path: Path, regressor: CommitteeRegressor, features: tuple[str, ...] | None) -> ColumnPlan:
    stored = read_metadata(path).get(COLUMNS)
    names = tuple(getattr(regressor, "feature_names_in_", ()))
    if (stored is not None or names) and features is not None:
        raise InvalidParameterError(f"The model '{path}' knows its columns; leave --features out.")
    plan = ColumnPlan(_given(path, regressor, names or features)) if stored is None else ColumnPlan.from_dict(stored)
    _check_width(path, regressor, plan)
    return plan


def _given(path: Path, regressor: CommitteeRegressor, names: tuple[str, ...] | None) -> tuple[str, ...]:
    if names is None:
        raise InvalidParameterError(
            f"The model '{path}' was fitted without column names. Name its "
            f"{counted(regressor.n_features_in_, 'column')} in the order of the fit: --features A,B,..."
        )
    return names


def _check_width(path: Path, regressor: CommitteeRegressor, plan: ColumnPlan) -> None:
    if len(plan.feature_names) != regressor.n_features_in_:
        raise InvalidParameterError(
            f"The model '{path}' has {counted(regressor.n_features_in_, 'input')}, but "
            f"{counted(len(plan.feature_names), 'name')} for them: {', '.join(plan.feature_names)}."
        )
