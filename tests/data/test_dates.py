from __future__ import annotations

import warnings
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.data import date_parts, open_table, plan_columns, warn_constant_dates
from gpcommittee.data.columns import check_columns
from gpcommittee.data.dates import TIMESTAMP_PARTS
from gpcommittee.errors import GPCommitteeWarning, InvalidInputError


@given(
    st.lists(st.none() | st.datetimes(datetime(1600, 1, 1), datetime(9000, 1, 1)), min_size=1),
    st.sampled_from(["s", "ms", "us"]),
)
def test_against_datetime(moments: list[datetime | None], unit: str) -> None:
    whole = [None if moment is None else moment.replace(microsecond=0) for moment in moments]
    found = date_parts(pa.array(whole, pa.timestamp(unit)), TIMESTAMP_PARTS)
    for part, values in zip(TIMESTAMP_PARTS, found, strict=True):
        expected = [np.nan if moment is None else getattr(moment, part) for moment in whole]
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2007-04-28", [2007, 4, 28, 0, 0]),
        ("2007-04-28 00:21", [2007, 4, 28, 0, 21]),
        ("2007-04-28T23:59:59.123456789", [2007, 4, 28, 23, 59]),
        ("2007-04-28T23:30:00-02:00", [2007, 4, 29, 1, 30]),
        ("3500-01-02 03:04:05", [3500, 1, 2, 3, 4]),
        (None, [np.nan] * 5),
    ],
)
def test_iso_text(text: str | None, expected: list[float]) -> None:
    for data_type in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        found = date_parts(pa.array([text], pa.string()).cast(data_type), TIMESTAMP_PARTS)
        np.testing.assert_array_equal(np.ravel(found), expected)


def test_zones_are_taken_in_utc() -> None:
    noon = pa.array([datetime(2020, 7, 1, 10, 0)], pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Berlin"))
    assert date_parts(noon, ["hour"])[0] == [10.0]


def test_plain_dates_are_midnight() -> None:
    for data_type in (pa.date32(), pa.date64()):
        found = date_parts(pa.array([datetime(1969, 12, 31), None], data_type), TIMESTAMP_PARTS)
        np.testing.assert_array_equal(found, np.array([[1969, 12, 31, 0, 0], [np.nan] * 5]).T)


def test_a_column_without_any_date() -> None:
    assert np.isnan(date_parts(pa.nulls(3), ["year"])[0]).all()


@pytest.mark.parametrize("text", ["16/12/2006", "2006", "17:24:00", "yesterday", "2006-02-30"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"Column 'when' has a date that cannot be read: .*{text}.*ISO 8601"):
        date_parts(pa.array(["2006-12-16", text]), ["year"], name="when")


def test_what_arrow_advises_is_not_repeated() -> None:
    with pytest.raises(InvalidInputError) as caught:
        date_parts(pa.array(["it's"]), ["year"])
    assert str(caught.value).startswith("Column 'date' has a date that cannot be read: \"it's\"; write dates as ISO")
    assert "assume_timezone" not in str(caught.value)


NAIVE, ZONED, DAY = pa.timestamp("us"), pa.timestamp("us", "Europe/Berlin"), pa.date32()


@pytest.mark.parametrize(
    ("trained", "new", "words"),
    [
        (NAIVE, DAY, "dates only, but timestamps in training; hour and minute are taken as 0"),
        (DAY, NAIVE, "timestamps, but dates only in training; the time of day is not used"),
        (NAIVE, ZONED, "a time zone, but had none in training"),
        (ZONED, NAIVE, "no time zone, but had one in training"),
        (NAIVE, pa.timestamp("s"), None),
        (ZONED, pa.timestamp("us", "UTC"), None),
        (DAY, pa.date64(), None),
        (ZONED, pa.string(), None),
        (pa.string(), ZONED, None),
    ],
)
def test_dates_of_another_kind_than_in_training(trained: pa.DataType, new: pa.DataType, words: str | None) -> None:
    plan = plan_columns(open_table(pa.schema({"t": trained}).empty_table()), expand_dates=["t"])
    source = open_table(pa.schema({"t": new}).empty_table())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_columns(source, plan, with_target=False)
    assert [words in str(warning.message) for warning in caught if words] == ([True] if words else [])
    assert len(caught) == (words is not None)


def test_mixed_zones_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="all with a time zone or all without"):
        date_parts(pa.array(["2006-12-16 00:00:00", "2006-12-16 00:00:00Z"]), ["year"])


def test_constant_parts_are_told() -> None:
    names = ("t_year", "x", "t_month")
    X = np.array([[2007.0, 1.0, 1.0], [2007.0, 1.0, 2.0]])
    with pytest.warns(GPCommitteeWarning, match=r"Constant in all 2 training rows.*: t_year\."):
        warn_constant_dates(X, names, ("t_year", "t_month"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_constant_dates(X, names, ("t_month",))
        warn_constant_dates(X[:1], names, ("t_year",))
