from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from gpcommittee.data import ColumnPlan, check_table, iter_batches, open_table, plan_columns, read_table, tables
from gpcommittee.errors import DatasetNotFoundError, InvalidInputError, InvalidParameterError

STAMPS = [datetime(2007, 4, 28, 0, 21), datetime(2008, 12, 31, 23, 59), datetime(2010, 1, 1)]
TABLE = pa.table(
    {
        "größe, in m": [0.1, 1e22, -1.0 / 3.0],
        "count": pa.array([9007199254740993, -5, 0], pa.int64()),
        "flag": [True, False, True],
        "when": pa.array(STAMPS, pa.timestamp("s")),
        "name": ["a", 'say "b"\nand c', "d"],
        "y": [1.5, 2.5, 3.5],
    }
)
EXPECTED_X = np.array(
    [
        [0.1, 9007199254740992.0, 1.0, 2007.0, 4.0, 28.0, 0.0, 21.0],
        [1e22, -5.0, 0.0, 2008.0, 12.0, 31.0, 23.0, 59.0],
        [-1.0 / 3.0, 0.0, 1.0, 2010.0, 1.0, 1.0, 0.0, 0.0],
    ]
)
FEATURES = ("größe, in m", "count", "flag", "when")


def to_csv(table: pa.Table, folder: Path) -> Path:
    csv.write_csv(table, folder / "table.csv")
    return folder / "table.csv"


def to_gzip(table: pa.Table, folder: Path) -> Path:
    (folder / "table.CSV.gz").write_bytes(gzip.compress(to_csv(table, folder).read_bytes()))
    return folder / "table.CSV.gz"


def to_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "table.pq", row_group_size=2)
    return folder / "table.pq"


def to_pandas(table: pa.Table, folder: Path) -> Any:
    return table.to_pandas()


def to_polars(table: pa.Table, folder: Path) -> Any:
    return pl.from_arrow(table)


def to_arrow(table: pa.Table, folder: Path) -> Any:
    return table


FILES = [to_csv, to_gzip, to_parquet]
STORES = [*FILES, to_pandas, to_polars, to_arrow]
Store = Callable[[pa.Table, Path], Any]


@pytest.mark.parametrize("store", STORES)
def test_every_source_gives_the_same_numbers(store: Store, tmp_path: Path) -> None:
    source = open_table(store(TABLE, tmp_path))
    plan = plan_columns(source, "y", FEATURES, expand_dates=True)
    rows = read_table(source, plan)
    np.testing.assert_array_equal(rows.X, EXPECTED_X)
    np.testing.assert_array_equal(rows.y, [1.5, 2.5, 3.5])
    np.testing.assert_array_equal(rows.rows, [0, 1, 2])
    assert (str(rows.X.dtype), rows.n_dropped, source.count_rows()) == ("float64", 0, 3)
    assert rows.X.flags.f_contiguous


@pytest.mark.parametrize("store", STORES)
def test_reordered_and_extra_columns(store: Store, tmp_path: Path) -> None:
    plan = plan_columns(open_table(TABLE), "y", FEATURES, expand_dates=True)
    shuffled = TABLE.select(["name", "when", "flag", "count", "größe, in m"])
    rows = read_table(open_table(store(shuffled, tmp_path)), plan, with_target=False)
    np.testing.assert_array_equal(rows.X, EXPECTED_X)
    assert rows.y is None


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.integers(1, 5))
def test_doubles_survive_csv_bit_by_bit(values: list[float], batch_rows: int) -> None:
    plan = ColumnPlan(("x",))
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(tables, "BATCH_ROWS", batch_rows)
        source = open_table(to_csv(pa.table({"x": values}), Path(folder)))
        found = read_table(source, plan, with_target=False).X[:, 0]
    np.testing.assert_array_equal(found.view(np.int64), np.array(values).view(np.int64))


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_batches_are_the_whole_table(store: Store, batch_rows: int, tmp_path: Path) -> None:
    source = open_table(store(TABLE, tmp_path))
    plan = plan_columns(source, "y", FEATURES, expand_dates=True)
    batches = list(iter_batches(source, plan, with_target=True, batch_rows=batch_rows))
    assert max(len(batch.X) for batch in batches) <= batch_rows
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), EXPECTED_X)
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in batches]), [0, 1, 2])
    np.testing.assert_array_equal(np.concatenate([np.asarray(batch.y) for batch in batches]), [1.5, 2.5, 3.5])


GAPS = pa.table(
    {
        "a": [1.0, None, 3.0, float("nan"), 5.0],
        "b": pa.array([1, 2, None, None, 5], pa.int64()),
        "t": pa.array([STAMPS[0]] * 4 + [None], pa.timestamp("us")),
        "y": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)


@pytest.mark.parametrize("store", STORES)
def test_missing_values_are_counted_by_column(store: Store, tmp_path: Path) -> None:
    source = open_table(store(GAPS, tmp_path))
    plan = plan_columns(source, "y", expand_dates=True)
    message = r"missing values .* in 4 of 5 rows, by column 'a' 2, 'b' 2, 't' 1: fill them in, or .* drop_missing"
    with pytest.raises(InvalidInputError, match=message):
        read_table(source, plan)
    with pytest.raises(InvalidInputError, match=message):
        check_table(source, plan)
    with pytest.raises(InvalidInputError, match="in 1 of 2 rows, by column 'a' 1"):
        list(iter_batches(source, plan, batch_rows=2))


@pytest.mark.parametrize("store", STORES)
def test_incomplete_rows_are_dropped_on_request(store: Store, tmp_path: Path) -> None:
    source = open_table(store(GAPS, tmp_path))
    plan = plan_columns(source, "y", ["a", "b"])
    rows = read_table(source, plan, drop_missing=True)
    np.testing.assert_array_equal(rows.X, [[1.0, 1.0], [5.0, 5.0]])
    np.testing.assert_array_equal(rows.y, [1.0, 5.0])
    np.testing.assert_array_equal(rows.rows, [0, 4])
    assert rows.n_dropped == 3
    batches = list(iter_batches(source, plan, drop_missing=True, batch_rows=2))
    assert sum(batch.n_dropped for batch in batches) == 3
    np.testing.assert_array_equal(np.concatenate([batch.rows for batch in batches]), [0, 4])
    assert check_table(source, plan, with_target=True, drop_missing=True) == 2


def test_missing_targets_matter_only_when_read() -> None:
    source = open_table(pa.table({"x": [1.0, 2.0], "y": [None, 2.0]}))
    plan = plan_columns(source, "y")
    assert read_table(source, plan, with_target=False).X.shape == (2, 1)
    with pytest.raises(InvalidInputError, match="'y' 1"):
        read_table(source, plan)


@pytest.mark.parametrize("store", STORES)
def test_a_column_wholly_missing(store: Store, tmp_path: Path) -> None:
    source = open_table(store(pa.table({"x": [1.0, 2.0], "gone": pa.nulls(2, pa.float64())}), tmp_path))
    plan = plan_columns(source)
    with pytest.raises(InvalidInputError, match="in 2 of 2 rows, by column 'gone' 2"):
        read_table(source, plan, with_target=False)
    assert read_table(source, plan, with_target=False, drop_missing=True).X.shape == (0, 2)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("drop_missing", [False, True])
def test_infinity_is_refused_always(store: Store, drop_missing: bool, tmp_path: Path) -> None:
    source = open_table(store(pa.table({"x": [1.0, float("inf"), float("-inf")], "y": [1.0] * 3}), tmp_path))
    plan = plan_columns(source, "y")
    with pytest.raises(InvalidInputError, match="contains infinity, by column 'x' 2: correct or remove"):
        read_table(source, plan, drop_missing=drop_missing)
    with pytest.raises(InvalidInputError, match="infinity"):
        check_table(source, plan, drop_missing=drop_missing)


def test_missing_and_infinite_values_are_told_together() -> None:
    source = open_table(pa.table({"a": [None, float("inf")]}))
    with pytest.raises(InvalidInputError, match=r"missing values .*'a' 1.*; and infinity, by column 'a' 1"):
        read_table(source, plan_columns(source), with_target=False)


@pytest.mark.parametrize("store", STORES)
def test_no_rows(store: Store, tmp_path: Path) -> None:
    source = open_table(store(TABLE.slice(0, 0), tmp_path))
    plan = plan_columns(open_table(TABLE), "y", FEATURES, expand_dates=True)
    rows = read_table(source, plan)
    assert rows.X.shape == (0, 8)
    assert rows.y is not None
    assert rows.y.shape == (0,)
    assert sum(len(batch.X) for batch in iter_batches(source, plan)) == 0
    assert (check_table(source, plan), source.count_rows()) == (0, 0)


@pytest.mark.parametrize("store", STORES)
def test_columns_of_another_type_than_planned(store: Store, tmp_path: Path) -> None:
    plan = ColumnPlan(("name", "count"), "y")
    with pytest.raises(InvalidInputError, match="'name' holds text"):
        read_table(open_table(store(TABLE, tmp_path)), plan)
    with pytest.raises(InvalidInputError, match="'count' holds numbers, type int64"):
        read_table(open_table(store(TABLE, tmp_path)), ColumnPlan(("count",), "y", {"count": ("year",)}))
    with pytest.raises(InvalidInputError, match="has no column 'z'; it has 'größe, in m', 'count'"):
        list(iter_batches(open_table(store(TABLE, tmp_path)), ColumnPlan(("z",))))


def test_plan_without_target() -> None:
    with pytest.raises(InvalidParameterError, match="no target"):
        read_table(open_table(TABLE), ColumnPlan(("count",)))
    with pytest.raises(InvalidParameterError, match="batch_rows must be at least 1, got 0"):
        list(iter_batches(open_table(TABLE), ColumnPlan(("count",)), batch_rows=0))


def test_decimals_and_categories_of_numbers() -> None:
    table = pa.table(
        {
            "price": pa.array([Decimal("2.675"), Decimal("1E-7"), None], pa.decimal128(30, 10)),
            "grade": pa.array([10, 20, 10]).dictionary_encode(),
            "half": pa.array(np.array([1.5, 2.5, 3.5], np.float16)),
        }
    )
    source = open_table(table)
    rows = read_table(source, plan_columns(source), with_target=False, drop_missing=True)
    np.testing.assert_array_equal(rows.X, [[2.675, 10.0, 1.5], [1e-7, 20.0, 2.5]])


def test_dots_in_parquet_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": [1.0], "a": [2.0], "": [3.0]}), tmp_path / "t.parquet")
    source = open_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(
        read_table(source, ColumnPlan(("", "a", "a.b")), with_target=False).X, [[3.0, 2.0, 1.0]]
    )


def test_pandas_missing_values_and_index() -> None:
    frame = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": [1.0, 2.0, 3.0]}, index=[5, 6, 9])
    source = open_table(frame)
    plan = plan_columns(source, "y")
    assert plan.features == ("x",)
    np.testing.assert_array_equal(read_table(source, plan, drop_missing=True).X, [[1.0], [3.0]])


def test_only_the_rows_asked_for_are_held(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": np.arange(1e6)}), tmp_path / "t.parquet", row_group_size=100_000)
    source = open_table(tmp_path / "t.parquet")
    before = pa.total_allocated_bytes()
    batches = iter_batches(source, ColumnPlan(("x",)), batch_rows=1000)
    assert next(batches).X.shape == (1000, 1)
    assert pa.total_allocated_bytes() - before < 4e6
    batches.close()  # type: ignore[attr-defined]


def test_paths_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"No file .*none\.csv.*the working folder is"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(InvalidInputError, match="is a folder"):
        open_table(tmp_path)
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(InvalidInputError, match=r"'t.xlsx' has an unknown ending. Allowed are .csv, .csv.gz, .parquet"):
        open_table(tmp_path / "t.xlsx")
    with pytest.raises(InvalidInputError, match="A ndarray is not a table"):
        open_table(np.ones((2, 2)))


def test_damaged_parquet(tmp_path: Path) -> None:
    whole = to_parquet(TABLE, tmp_path).read_bytes()
    for name, content in {"empty.pq": b"", "text.pq": b"a,b\n1,2\n", "cut.pq": whole[:-20]}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError, match=f"'{name}' cannot be read; it is damaged"):
            open_table(tmp_path / name)
    broken = bytearray(whole)
    broken[4:40] = bytes(36)
    (tmp_path / "hole.pq").write_bytes(bytes(broken))
    with pytest.raises(InvalidInputError, match=r"'hole.pq' cannot be read"):
        read_table(open_table(tmp_path / "hole.pq"), ColumnPlan(("größe, in m",)), with_target=False)
