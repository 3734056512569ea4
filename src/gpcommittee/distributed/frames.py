"""Dask data frames as partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpcommittee.data import ColumnPlan, plan_columns
from gpcommittee.data.columns import check_columns
from gpcommittee.distributed.blocks import Block
from gpcommittee.distributed.tables import TableReader, as_frame
from gpcommittee.errors import InvalidInputError, InvalidTypeError

UNNAMED_TARGET = "target"
"""Column in which the values of a series without a name are kept."""


@dataclass(frozen=True)
class FrameReader(TableReader):
    """Reads the rows of a partition: a pandas frame, or a frame and its target."""

    def __call__(self, part: Any, number: int) -> Block:
        """The rows; messages name the partition."""
        name = f"partition {number}"
        frame = _joined(part[0], part[1], name, self.plan) if isinstance(part, list) else part
        return self.block(as_frame(frame, name))


def frame_parts(
    frame: Any,
    target: Any,
    *,
    features: Sequence[str] | None = None,
    expand_dates: bool | Sequence[str] = False,
    drop_missing: bool = False,
    plan: ColumnPlan | None = None,
) -> tuple[tuple[Any, ...], tuple[str, ...], FrameReader, int, ColumnPlan]:
    """Partitions of a Dask DataFrame, their identities, and how to read them.

    Raises
    ------
    InvalidInputError
        Columns that are missing or cannot be used; a target whose partitions are not the frame's.
    InvalidTypeError
        A target of another kind.
    """
    table = as_frame(frame._meta, "data frame")
    series = None if target is None or isinstance(target, str) else _series(target)
    name = _target_name(frame, target, series)
    labels = _labels(frame)
    if series is not None and name in labels:
        series = None
    inside = name if series is None else None
    columns = plan_columns(table, inside, features, expand_dates) if plan is None else plan
    check_columns(table, columns, with_target=inside is not None)
    inputs = [labels[feature] for feature in columns.features]
    if series is None:
        parts = list(frame[[*inputs, *([] if name is None else [labels[name]])]].to_delayed())
        identities = [str(part.key) for part in parts]
    else:
        _check_aligned(frame, series)
        columns = ColumnPlan(columns.features, name, columns.dates, columns.zoned)
        pairs = zip(frame[inputs].to_delayed(), series.to_delayed(), strict=True)
        parts = [list(pair) for pair in pairs]
        identities = [f"{x.key}, {y.key}" for x, y in parts]
    reader = FrameReader(columns, name is not None, drop_missing)
    return tuple(parts), tuple(identities), reader, len(columns.feature_names), columns


def _series(target: Any) -> Any:
    if hasattr(target, "to_delayed") and hasattr(target, "divisions") and target.ndim == 1:
        return target
    raise InvalidTypeError(
        f"With a Dask DataFrame the target is a column name or a Dask Series, got {type(target).__name__}."
    )


def _target_name(frame: Any, target: Any, series: Any) -> str | None:
    """The target's column, whether it is in the frame or not; a series that only has a column's name is refused."""
    if series is None:
        return None if target is None else str(target)
    name = UNNAMED_TARGET if series.name is None else str(series.name)
    labels = _labels(frame)
    if name in labels and (series.name is None or frame[labels[name]]._name != series._name):
        raise InvalidInputError(
            f"The target is a series named {name!r}, and the data frame has another column of this name. Rename one "
            "of them, or drop the column if it is the target."
        )
    return name


def _labels(frame: Any) -> dict[str | None, Any]:
    """The frame's columns by their names as text, as tables have them."""
    return {str(label): label for label in frame.columns}


def _check_aligned(frame: Any, series: Any) -> None:
    if frame.npartitions != series.npartitions or (
        frame.known_divisions and series.known_divisions and frame.divisions != series.divisions
    ):
        raise InvalidInputError(
            f"The data frame has {frame.npartitions} partitions and the target {series.npartitions}, or they are "
            "divided otherwise. Make the target a column of the frame and name it."
        )


def _joined(frame: Any, series: Any, name: str, plan: ColumnPlan) -> Any:
    if len(frame) != len(series):
        raise InvalidInputError(f"{name!r} has {len(frame)} rows of inputs but {len(series)} target values.")
    return frame.rename(columns=str).assign(**{str(plan.target): series.to_numpy()})
