"""Which columns of a table a model uses, decided from the table's schema alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from gpcommittee.data._wording import listing, quoted, suggestion
from gpcommittee.data.dates import DATE_PARTS, ISO_DATES, TIMESTAMP_PARTS, warn_other_times
from gpcommittee.data.kinds import Kind, kind_of
from gpcommittee.data.plan import ColumnPlan
from gpcommittee.data.sources import TableSource
from gpcommittee.errors import InvalidInputError

_DATED = (Kind.DATE, Kind.TIMESTAMP)

# pandas stores an unnamed index under such a name; it is no measurement.
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def plan_columns(
    source: TableSource,
    target: str | None = None,
    features: Sequence[str] | None = None,
    expand_dates: bool | Sequence[str] = False,
) -> ColumnPlan:
    """Decide from a table's schema which columns a model uses, and check that it can.

    Parameters
    ----------
    source : TableSource
        From `open_table`; its rows are not read.
    target : str, optional
        Column to predict.
    features : sequence of str, optional
        Columns to predict from; all but the target by default (and but an unnamed pandas index).
    expand_dates : bool or sequence of str, default=False
        Replace date columns by numbers: all of them, or those named (named text columns are read as ISO 8601). A date
        gives year, month and day; a timestamp hour and minute too. Seconds are not used; a time with a zone is taken in
        UTC.

    Returns
    -------
    ColumnPlan

    Raises
    ------
    InvalidInputError
        Columns that are missing, repeated, or not numeric; no features; names that collide after date expansion.

    Examples
    --------
    >>> from gpcommittee.data import open_table
    >>> schema = pa.schema({"x": pa.float64(), "day": pa.date32(), "y": pa.int64()})
    >>> plan_columns(open_table(schema.empty_table()), target="y", expand_dates=True).feature_names
    ('x', 'day_year', 'day_month', 'day_day')
    """
    chosen = _all_but(target, source.schema) if features is None else _as_names(features)
    _refuse_nameless(source, chosen)
    _require(source, [*chosen, *_as_names(target)])
    dates = _dates_to_expand(source, chosen, expand_dates)
    columns = {name: source.schema.field(name) for name in dates}
    zoned = {name: column.type.tz is not None for name, column in columns.items() if pa.types.is_timestamp(column.type)}
    plan = ColumnPlan(chosen, target, {name: _parts_of(column) for name, column in columns.items()}, zoned)
    check_columns(source, plan, with_target=True)
    return plan


def check_columns(source: TableSource, plan: ColumnPlan, with_target: bool) -> None:
    """Refuse a table that lacks columns of the plan, repeats them, or holds in them what cannot be used.

    Parameters
    ----------
    source : TableSource
    plan : ColumnPlan
    with_target : bool
        Whether the plan's target is needed too.

    Raises
    ------
    InvalidInputError
        With every such column by name and what to do about it.

    Warns
    -----
    GPCommitteeWarning
        Dates of another kind than in training: without times, or with or without a time zone.
    """
    numbers = [name for name in plan.features if name not in plan.dates]
    numbers += _as_names(plan.target) if with_target else ()
    _require(source, [*numbers, *plan.dates])
    problems = [_number_problem(source.schema.field(name)) for name in numbers]
    problems += [_date_problem(source.schema.field(name)) for name in plan.dates]
    found = [problem for problem in problems if problem]
    if found:
        raise InvalidInputError(f"Columns of {source.name!r} that cannot be used: {listing(found)}.")
    warn_other_times(source.schema, plan.dates, plan.zoned)


def _require(source: TableSource, names: Sequence[str]) -> None:
    available = source.schema.names
    missing = [name for name in names if name not in available]
    if missing:
        raise InvalidInputError(
            f"{source.name!r} has no column {quoted(missing)}; it has {quoted(available) or 'no columns'}."
            f"{suggestion(missing, available)}{_separator_hint(available)}"
        )
    twice = [name for name in dict.fromkeys(names) if available.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{source.name!r} has more than one column {quoted(twice)}; rename all but one.")


def _refuse_nameless(source: TableSource, chosen: Sequence[str]) -> None:
    if not all(name.strip() for name in chosen):
        raise InvalidInputError(
            f"{source.name!r} has a column without a name, probably row numbers that pandas wrote as its index. Name "
            "the columns to predict from (features=[...]), or write the file again with to_csv(..., index=False)."
        )


def _all_but(target: str | None, schema: pa.Schema) -> tuple[str, ...]:
    return tuple(name for name in schema.names if name != target and not _UNNAMED_INDEX.fullmatch(name))


def _as_names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def _dates_to_expand(
    source: TableSource, chosen: tuple[str, ...], expand_dates: bool | Sequence[str]
) -> tuple[str, ...]:
    if not isinstance(expand_dates, bool):
        _require(source, _as_names(expand_dates))
        return _as_names(expand_dates)
    held = [name for name in chosen if kind_of(source.schema.field(name).type) in _DATED]
    return tuple(held) if expand_dates else ()


def _parts_of(column: pa.Field) -> tuple[str, ...]:
    return DATE_PARTS if kind_of(column.type) is Kind.DATE else TIMESTAMP_PARTS


def _number_problem(column: pa.Field) -> str | None:
    match kind_of(column.type):
        case Kind.NUMBER | Kind.BOOLEAN | Kind.EMPTY:
            return None
        case Kind.DATE | Kind.TIMESTAMP as kind:
            return f"{column.name!r} holds {kind.value} (expand_dates turns them into numbers, or leave it out)"
        case kind:
            return (
                f"{column.name!r} holds {kind.value}, type {column.type} (encode it as numbers, or leave it out by "
                f"naming the features{_date_hint(kind)})"
            )


def _date_hint(kind: Kind) -> str:
    return f"; if these are dates: {ISO_DATES}" if kind is Kind.TEXT else ""


def _date_problem(column: pa.Field) -> str | None:
    kind = kind_of(column.type)
    if kind in (*_DATED, Kind.TEXT, Kind.EMPTY):
        return None
    return f"{column.name!r} holds {kind.value}, type {column.type} (only dates can be expanded)"


def _separator_hint(names: Sequence[str]) -> str:
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    return "" if other is None else f" The file seems to be separated by {other!r}; commas are expected."
