"""Dates and timestamps as numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpcommittee.data.kinds import Kind, kind_of
from gpcommittee.errors import GPCommitteeWarning, InvalidInputError
from gpcommittee.records import FloatArray

DATE_PARTS = ("year", "month", "day")
TIMESTAMP_PARTS = (*DATE_PARTS, "hour", "minute")

ISO_DATES = "write dates as ISO 8601, for example 2007-04-28 or 2007-04-28 00:21:00"

# The value in Arrow's message, which goes on about Arrow's own functions.
_UNREAD = re.compile(r"string: '(.*)' as a scalar", re.DOTALL)

_PART_OF = {"year": pc.year, "month": pc.month, "day": pc.day, "hour": pc.hour, "minute": pc.minute}


def date_parts(dates: pa.Array, parts: Sequence[str], name: str = "date") -> list[FloatArray]:
    """Year, month, day, hour or minute of each date as float64, NaN where the date is missing.

    Parameters
    ----------
    dates : pyarrow.Array
        Dates, timestamps, or ISO 8601 text. A time with a zone is taken in UTC.
    parts : sequence of str
        Among year, month, day, hour and minute; hour and minute of a plain date are 0.
    name : str, default="date"
        Column name in messages.

    Returns
    -------
    list of ndarray of float64, one per part

    Raises
    ------
    InvalidInputError
        Text that is not ISO 8601.

    Examples
    --------
    >>> date_parts(pa.array(["2007-04-28 00:21:00"]), ("year", "minute"))
    [array([2007.]), array([21.])]
    """
    timestamps = _as_timestamps(dates, name)
    return [_PART_OF[part](timestamps).cast(pa.float64()).to_numpy(zero_copy_only=False) for part in parts]


def warn_constant_dates(X: FloatArray, feature_names: Sequence[str], date_features: Sequence[str]) -> None:
    """Warn when a feature that came from a date is constant in the training data, so that the model cannot use it.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Training inputs.
    feature_names : sequence of str
        Name of each column of `X`.
    date_features : sequence of str
        The names among them that came from dates, ``ColumnPlan.date_features``.
    """
    if len(X) < 2:
        return
    constant = [name for name in date_features if np.ptp(X[:, list(feature_names).index(name)]) == 0.0]
    if constant:
        warnings.warn(
            f"Constant in all {len(X)} training rows, so nothing can be learnt from it: {', '.join(constant)}. "
            "Predictions at other dates will not depend on it; leave it out, or train on a longer period.",
            GPCommitteeWarning,
            stacklevel=2,
        )


def warn_other_times(schema: pa.Schema, dates: Mapping[str, Sequence[str]], zoned: Mapping[str, bool]) -> None:
    """Warn when date columns are of another kind than those that a column plan was made from.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of the table at hand, which has all columns in `dates`.
    dates, zoned : mapping
        Of the `ColumnPlan`.
    """
    for name, parts in dates.items():
        change = _other_time(schema.field(name).type, "hour" in parts, zoned.get(name))
        if change is not None:
            warnings.warn(f"Column {name!r} {change}.", GPCommitteeWarning, stacklevel=3)


def _other_time(data_type: pa.DataType, timed: bool, zoned: bool | None) -> str | None:
    kind = kind_of(data_type)
    if kind is Kind.DATE and timed:
        return "holds dates only, but timestamps in training; hour and minute are taken as 0"
    if kind is Kind.TIMESTAMP and not timed:
        return "holds timestamps, but dates only in training; the time of day is not used"
    if kind is not Kind.TIMESTAMP or zoned is None or zoned == (data_type.tz is not None):
        return None
    here, there = ("no time zone", "one") if zoned else ("a time zone", "none")
    return f"has {here}, but had {there} in training; times with a zone are taken in UTC, times without as they are"


def _as_timestamps(dates: pa.Array, name: str) -> pa.Array:
    if pa.types.is_dictionary(dates.type):
        dates = dates.dictionary_decode()
    if kind_of(dates.type) is Kind.TEXT:
        return _parse(dates, name)
    unit = dates.type.unit if pa.types.is_timestamp(dates.type) else "ms"
    return dates.cast(pa.timestamp(unit))


def _parse(texts: pa.Array, name: str) -> pa.Array:
    for target in (pa.timestamp("ns"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC")):
        try:
            return texts.cast(target).cast(pa.timestamp(target.unit))
        except pa.ArrowInvalid as error:
            found = _UNREAD.search(str(error))
    value = f": {found[1]!r}" if found else ""
    raise InvalidInputError(
        f"Column {name!r} has a date that cannot be read{value}; {ISO_DATES}, all with a time zone or all without."
    )
