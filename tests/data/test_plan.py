from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from gpcommittee.data import ColumnPlan, TableSource, open_table, plan_columns
from gpcommittee.errors import InvalidInputError


def source_of(**types: pa.DataType) -> TableSource:
    return open_table(pa.schema(list(types.items())).empty_table())


NUMBERS = source_of(a=pa.float64(), b=pa.int32(), c=pa.bool_(), y=pa.uint8())
DATED = source_of(x=pa.float32(), when=pa.timestamp("us"), day=pa.date32(), y=pa.float64())


def test_all_columns_but_the_target_in_file_order() -> None:
    assert plan_columns(NUMBERS, target="b") == ColumnPlan(("a", "c", "y"), "b")
    assert plan_columns(NUMBERS) == ColumnPlan(("a", "b", "c", "y"), None)


def test_named_features_in_their_own_order() -> None:
    assert plan_columns(NUMBERS, "y", ["c", "a"]).feature_names == ("c", "a")
    assert plan_columns(NUMBERS, "y", "a").features == ("a",)


def test_unnamed_pandas_index_is_no_feature() -> None:
    source = source_of(x=pa.float64(), __index_level_0__=pa.int64(), y=pa.float64())
    assert plan_columns(source, "y").features == ("x",)
    assert plan_columns(source, "y", ["__index_level_0__"]).features == ("__index_level_0__",)


def test_date_expansion() -> None:
    plan = plan_columns(DATED, "y", expand_dates=True)
    assert plan.feature_names == (
        *("x", "when_year", "when_month", "when_day", "when_hour", "when_minute"),
        *("day_year", "day_month", "day_day"),
    )
    assert plan.date_features == plan.feature_names[1:]
    assert plan_columns(DATED, "y", ["day", "x"], expand_dates=["day"]).feature_names == (
        *("day_year", "day_month", "day_day"),
        "x",
    )
    assert plan_columns(source_of(t=pa.string()), expand_dates="t").dates["t"][-1] == "minute"


def test_dates_are_refused_unless_expanded() -> None:
    with pytest.raises(InvalidInputError, match=r"'when' holds timestamps \(expand_dates.*'day' holds dates"):
        plan_columns(DATED, "y")
    with pytest.raises(InvalidInputError, match="'day' holds dates"):
        plan_columns(DATED, "y", expand_dates="when")
    assert plan_columns(DATED, "y", ["x"]).feature_names == ("x",)


@pytest.mark.parametrize(
    ("data_type", "words"),
    [
        (pa.string(), "text, type string"),
        (pa.large_string(), "text"),
        (pa.string_view(), "text"),
        (pa.dictionary(pa.int32(), pa.string()), "text"),
        (pa.binary(), "unsupported type"),
        (pa.time32("s"), "unsupported type"),
        (pa.duration("s"), "unsupported type"),
        (pa.list_(pa.float64()), "unsupported type"),
        (pa.struct([("a", pa.float64())]), "unsupported type"),
    ],
)
def test_other_columns_are_refused_by_name(data_type: pa.DataType, words: str) -> None:
    source = source_of(x=pa.float64(), odd=data_type, y=pa.float64())
    with pytest.raises(InvalidInputError, match=f"'odd' holds .*{words}.*encode it as numbers, or leave it out"):
        plan_columns(source, "y", expand_dates=True)
    with pytest.raises(InvalidInputError, match="'odd' holds"):
        plan_columns(source, target="odd")


@pytest.mark.parametrize(
    "data_type", [pa.decimal128(9, 2), pa.float16(), pa.null(), pa.dictionary(pa.int8(), pa.int64())]
)
def test_unusual_numbers_are_accepted(data_type: pa.DataType) -> None:
    assert plan_columns(source_of(x=data_type)).features == ("x",)


def test_missing_columns_are_listed_with_those_there_are() -> None:
    with pytest.raises(InvalidInputError) as caught:
        plan_columns(source_of(**{" Höhe": pa.float64(), "y": pa.float64()}), "y", ["Höhe", "zzz"])
    assert str(caught.value) == ("'frame' has no column 'Höhe', 'zzz'; it has ' Höhe', 'y'. Did you mean ' Höhe'?")
    with pytest.raises(InvalidInputError, match="no column 'target'"):
        plan_columns(NUMBERS, "target")
    with pytest.raises(InvalidInputError, match="no column 'd'"):
        plan_columns(NUMBERS, "y", expand_dates=["d"])


def test_another_separator_is_recognised() -> None:
    with pytest.raises(InvalidInputError, match="seems to be separated by ';'"):
        plan_columns(source_of(**{"a;b;y": pa.string()}), "y")


def test_repeated_columns() -> None:
    schema = pa.schema([("a", pa.float64()), ("a", pa.float64()), ("y", pa.float64())])
    with pytest.raises(InvalidInputError, match="more than one column 'a'"):
        plan_columns(open_table(schema.empty_table()), "y", expand_dates=True)


def test_impossible_plans() -> None:
    with pytest.raises(InvalidInputError, match="No feature columns are left"):
        plan_columns(source_of(y=pa.float64()), "y")
    with pytest.raises(InvalidInputError, match="'y' is the target and cannot be a feature too"):
        plan_columns(NUMBERS, "y", ["a", "y"])
    with pytest.raises(InvalidInputError, match="Features repeat 'a'"):
        plan_columns(NUMBERS, "y", ["a", "a"])
    with pytest.raises(InvalidInputError, match="After date expansion, features repeat 'when_year'"):
        plan_columns(source_of(when=pa.date32(), when_year=pa.int64()), expand_dates=True)
    with pytest.raises(InvalidInputError, match="must be features, but 'when' is not among them"):
        plan_columns(DATED, "y", ["x"], expand_dates=["when"])
    with pytest.raises(InvalidInputError, match=r"'x' holds numbers, type float.*only dates"):
        plan_columns(DATED, "y", ["x"], expand_dates=["x"])


def test_nameless_columns_are_refused() -> None:
    source = source_of(**{"": pa.int64(), "x": pa.float64(), "y": pa.float64()})
    with pytest.raises(InvalidInputError, match=r"has a column without a name.*features=.*index=False"):
        plan_columns(source, "y")
    assert plan_columns(source, "y", ["x"]).features == ("x",)


def test_plans_of_older_files_know_nothing_of_zones() -> None:
    assert ColumnPlan.from_dict({"features": ["x"], "target": None, "dates": {}}).zoned == {}


def test_json_round_trip() -> None:
    plan = plan_columns(DATED, "y", expand_dates=True)
    assert ColumnPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"features": ["x"], "target": None},
        {"features": [1], "target": None, "dates": {}},
        {"features": ["x"], "target": 3, "dates": {}},
        {"features": ["x"], "target": None, "dates": {"x": ["century"]}},
        {"features": ["x"], "target": None, "dates": []},
        {"features": ["x"], "target": None, "dates": {}, "zoned": 1},
        {"features": ["x"], "target": None, "dates": {}, "zoned": "ab"},
        {"features": 1, "target": None, "dates": {}},
        [],
    ],
)
def test_content_that_is_no_plan(content: Any) -> None:
    with pytest.raises(InvalidInputError, match="Not a column plan"):
        ColumnPlan.from_dict(content)
