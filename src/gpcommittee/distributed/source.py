"""Where rows come from: partitions of Dask collections, or row groups of Parquet files, none of them read yet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gpcommittee.data import ColumnPlan
from gpcommittee.distributed.arrays import array_parts
from gpcommittee.distributed.blocks import Read, read_block
from gpcommittee.distributed.cluster import require_dask
from gpcommittee.distributed.frames import frame_parts
from gpcommittee.distributed.parquet import parquet_parts
from gpcommittee.errors import InvalidInputError, InvalidTypeError


@dataclass(frozen=True)
class RowSource:
    """Rows in partitions that workers can read.

    Attributes
    ----------
    parts : tuple
        What `read` takes; some are Dask's own delayed values.
    identities : tuple of str
        One for each part; another one when the part is changed.
    read : callable
    n_features : int
    plan : ColumnPlan or None
        Columns of a table; None for arrays.
    """

    parts: tuple[Any, ...]
    identities: tuple[str, ...]
    read: Read
    n_features: int
    plan: ColumnPlan | None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return None if self.plan is None else self.plan.feature_names

    def delayed_block(self, number: int) -> Any:
        """The block of one partition, as Dask's delayed value."""
        from dask.delayed import delayed

        return delayed(partial(read_block, self.read), pure=False)(self.parts[number], number)


def is_partitioned(X: object) -> bool:
    """Whether `X` is a Dask collection, or names Parquet files: data for `open_rows`."""
    if isinstance(X, (str, os.PathLike)) or _is_list_of_paths(X):
        return True
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def open_rows(
    X: Any,
    y: Any,
    *,
    features: Sequence[str] | None = None,
    expand_dates: bool | Sequence[str] = False,
    drop_missing: bool = False,
) -> RowSource:
    """Training rows in partitions; looks at names and types, reads no rows.

    Parameters
    ----------
    X : Dask DataFrame, Dask array of shape (n_rows, n_features), path, or sequence of paths
        A path names a Parquet file or a folder of them, which the workers can read too.
    y : str, Dask Series or Dask array of shape (n_rows,) or (n_rows, 1)
        The target: a column name, or, with a data frame, a series with the same partitions, or, with an array, an
        array.
    features, expand_dates
        Of tables, as in `plan_columns`.
    drop_missing : bool, default=False
        Leave rows of a table with missing values out instead of refusing them.

    Returns
    -------
    RowSource

    Raises
    ------
    MissingDependencyError
        Dask is not installed.
    InvalidInputError
        Columns that are missing or cannot be used; arrays that do not fit; no files.
    InvalidTypeError
        Data of another kind.
    """
    require_dask()
    options: dict[str, Any] = {"features": features, "expand_dates": expand_dates, "drop_missing": drop_missing}
    if isinstance(X, (str, os.PathLike)) or _is_list_of_paths(X):
        return RowSource(*parquet_parts(X, _column_name(y), **options))
    if _is_frame(X):
        return RowSource(*frame_parts(X, y, **options))
    if hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        return RowSource(*array_parts(X, y), plan=None)
    raise InvalidTypeError(
        f"Rows on a cluster come as a Dask DataFrame, a Dask array or Parquet files, got {type(X).__name__}."
    )


def open_points(X: Any, plan: ColumnPlan | None, n_features: int, *, drop_missing: bool = False) -> RowSource:
    """Test points in partitions; looks at names and types, reads no rows.

    Parameters
    ----------
    X : Dask DataFrame, Dask array of shape (n_points, n_features), path, or sequence of paths
    plan : ColumnPlan or None
        Columns of the fit; None if it had no names: then a table's columns are taken in their order.
    n_features : int
        Of the fit.
    drop_missing : bool, default=False

    Returns
    -------
    RowSource
        Its blocks have no target.

    Raises
    ------
    MissingDependencyError, InvalidInputError, InvalidTypeError
        As in `open_rows`.
    """
    require_dask()
    if isinstance(X, (str, os.PathLike)) or _is_list_of_paths(X):
        source = RowSource(*parquet_parts(X, None, plan=plan, drop_missing=drop_missing))
    elif _is_frame(X):
        source = RowSource(*frame_parts(X, None, plan=plan, drop_missing=drop_missing))
    elif hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        source = RowSource(*array_parts(X, None), plan=None)
    else:
        raise InvalidTypeError(
            f"Points on a cluster come as a Dask DataFrame, a Dask array or Parquet files, got {type(X).__name__}."
        )
    if source.n_features != n_features:
        raise InvalidInputError(f"The points have {source.n_features} features, the fit had {n_features}.")
    if drop_missing:
        return replace(source, identities=tuple(f"{one}, rows may be empty" for one in source.identities))
    return source


def _is_frame(X: Any) -> bool:
    return hasattr(X, "to_delayed") and hasattr(X, "divisions") and X.ndim == 2


def _is_list_of_paths(X: object) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(path, (str, Path)) for path in X)


def _column_name(y: Any) -> str:
    if not isinstance(y, str):
        raise InvalidTypeError(f"With Parquet files the target is a column name, got {type(y).__name__}.")
    return y
