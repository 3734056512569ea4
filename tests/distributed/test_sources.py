"""Every source gives the rows that one machine reads, and says early what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpcommittee.data import open_table, plan_columns, read_table, standardisation, standardise_inputs
from gpcommittee.distributed import open_points, open_rows, place_rows, take_rows
from gpcommittee.errors import (
    DatasetNotFoundError,
    GPCommitteeError,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
)

dask_array = pytest.importorskip("dask.array", reason="Dask is not installed: pip install gpcommittee[dask]")
dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install gpcommittee[dask]")

N_ROWS = 600
generator = np.random.default_rng(1)
TABLE = pd.DataFrame(
    {
        "a": generator.normal(size=N_ROWS),
        "when": pd.date_range("2024-01-01", periods=N_ROWS, freq="h"),
        "count": generator.integers(0, 9, size=N_ROWS),
        "y": generator.normal(size=N_ROWS).astype(np.float32),
    }
)
OPTIONS: dict[str, Any] = {"expand_dates": True}


def frame(table: pd.DataFrame = TABLE, n_partitions: int = 3) -> Any:
    return dataframe.from_pandas(table, npartitions=n_partitions)


def folder_of(path: Path, table: pd.DataFrame = TABLE) -> Path:
    for i, start in enumerate(range(0, len(table), 250)):
        part = pa.Table.from_pandas(table[start : start + 250], preserve_index=False)
        pq.write_table(part, path / f"part-{i}.parquet", row_group_size=100)
    (path / "_SUCCESS").write_text("")
    return path


def expected() -> tuple[Any, Any]:
    source = open_table(pa.Table.from_pandas(TABLE))
    rows = read_table(source, plan_columns(source, "y", expand_dates=True))
    assert rows.y is not None
    return rows.X, standardisation(rows.X, rows.y)


Open = Callable[[Path], Any]
SOURCES: dict[str, Open] = {
    "frame, column": lambda path: open_rows(frame(), "y", **OPTIONS),
    "frame, its series": lambda path: open_rows(whole := frame(), whole["y"], **OPTIONS),
    "frame, series apart": lambda path: open_rows(frame()[["a", "when", "count"]], frame()["y"], **OPTIONS),
    "folder": lambda path: open_rows(folder_of(path), "y", **OPTIONS),
    "list of files": lambda path: open_rows(sorted(folder_of(path).glob("*.parquet")), "y", **OPTIONS),
}


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_those_that_one_machine_reads(
    client: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcommittee.distributed.parquet.PART_ROWS", 200)
    source = SOURCES[name](tmp_path)
    assert source.feature_names == ("a", *(f"when_{p}" for p in ("year", "month", "day", "hour", "minute")), "count")
    assert len(set(source.identities)) == len(source.parts) == {"fol": 5, "lis": 5}.get(name[:3], 3)
    placed = place_rows(client, source)
    X, scaling = expected()
    np.testing.assert_allclose(placed.scaling.x_mean, scaling.x_mean, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(placed.scaling.x_scale, scaling.x_scale, rtol=1e-13)
    assert placed.scaling.y_scale == pytest.approx(scaling.y_scale, rel=1e-13)
    taken, target = take_rows(placed, np.arange(N_ROWS))
    np.testing.assert_array_equal(taken, standardise_inputs(X, placed.scaling))
    np.testing.assert_allclose(
        target * placed.scaling.y_scale + placed.scaling.y_mean, TABLE["y"], rtol=1e-6, atol=1e-6
    )


def test_the_fingerprint_is_of_values(client: Any) -> None:
    changed = TABLE.assign(a=TABLE["a"].where(TABLE.index != 400, 0.0))
    prints = [
        place_rows(client, open_rows(frame(table), "y", features=["a"])).fingerprint
        for table in (TABLE, TABLE, changed)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_incomplete_rows_are_dropped_on_request(client: Any) -> None:
    table = TABLE.assign(a=TABLE["a"].where(TABLE.index % 100 != 7))
    placed = place_rows(client, open_rows(frame(table), "y", features=["a", "count"], drop_missing=True))
    assert (placed.n_rows, placed.n_dropped) == (594, 6)


def arrays(X: Any, y: Any, rows: int = 40) -> Any:
    return dask_array.from_array(X, chunks=(rows, 1)), dask_array.from_array(y, chunks=30)


def test_array_columns_and_targets_in_other_chunks_are_brought_together(client: Any) -> None:
    X, y = generator.normal(size=(100, 2)), generator.normal(size=100)
    placed = place_rows(client, open_rows(*arrays(X, y)))
    np.testing.assert_array_equal(placed.starts, [0, 40, 80, 100])
    taken, target = take_rows(placed, np.arange(100))
    np.testing.assert_array_equal(taken, standardise_inputs(X, placed.scaling))
    np.testing.assert_allclose(target * placed.scaling.y_scale + placed.scaling.y_mean, y, atol=1e-14)


def with_bad(value: float, column: str = "a") -> pd.DataFrame:
    return TABLE.assign(**{column: TABLE[column].where(TABLE.index != 450, value)})


ones = np.ones((100, 2))
MIXED = pd.DataFrame({"a": pd.Series([1.0, 2.0, "x", 4.0], dtype=object), "y": 1.0})
BAD_VALUES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing in a frame": (
        lambda path: open_rows(frame(with_bad(np.nan)), "y", features=["a"]),
        "'partition 2' contains missing values .* in 1 of 200 rows, by column 'a' 1",
    ),
    "infinite target": (
        lambda path: open_rows(frame(with_bad(np.inf, "y")), "y", features=["a"]),
        "'partition 2' contains infinity, by column 'y' 1",
    ),
    "missing in a file": (
        lambda path: open_rows(folder_of(path, with_bad(np.nan)), "y", features=["a"]),
        "'part-1.parquet' contains missing values",
    ),
    "two bad partitions": (
        lambda path: open_rows(frame(TABLE.assign(a=np.nan), 2), "y", features=["a"]),
        r"'partition 0' contains .*\(1 more partitions cannot be used.\)",
    ),
    "array": (
        lambda path: open_rows(*arrays(np.where(np.arange(200).reshape(100, 2) == 171, np.inf, ones), ones[:, 0])),
        "Input X, partition 2, contains infinity: column 1 has 1 infinite .first at row 5.",
    ),
    "masked array": (
        lambda path: open_rows(*arrays(np.ma.masked_greater(np.arange(200.0).reshape(100, 2), 197), ones[:, 0])),
        "Input X, partition ., is a masked array with 2 values masked",
    ),
    "text among objects": (
        lambda path: open_rows(
            frame(pd.DataFrame({"a": pd.Series([1.0, 2.0, "x", 4.0], dtype=object), "y": 1.0}), 1).astype(
                {"a": object}
            ),
            "y",
        ),
        "(?s)partition 0.*'a'",
    ),
    "no rows": (lambda path: open_rows(frame(TABLE[:0], 1), "y", features=["a"]), "0 rows in 1 partitions"),
    "one row": (lambda path: open_rows(frame(TABLE[:1], 1), "y", features=["a"]), "1 rows in 1 partitions"),
    "scale beyond float64": (
        lambda path: open_rows(*arrays(ones, 1e200 * np.arange(100.0))),
        "standard deviation of y",
    ),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_values_are_refused_with_their_place(client: Any, tmp_path: Path, name: str) -> None:
    opened, message = BAD_VALUES[name]
    source = opened(tmp_path)
    with pytest.raises(InvalidInputError, match=message):
        place_rows(client, source)


numbers = dask_array.from_array(ones, chunks=(50, 2))
twice = pd.concat([TABLE[["a"]], TABLE[["a", "y"]]], axis=1)
REFUSED: dict[str, tuple[Callable[[Path], Any], type[GPCommitteeError], str]] = {
    "no such column": (lambda path: open_rows(frame(), "z"), InvalidInputError, "has no column 'z'"),
    "dates": (lambda path: open_rows(frame(), "y"), InvalidInputError, "'when' holds timestamps"),
    "one name twice": (lambda path: open_rows(frame(twice), "y"), InvalidInputError, "columns that cannot be used"),
    "text": (
        lambda path: open_rows(frame(TABLE.assign(a="x")), "y", features=["a"]),
        InvalidInputError,
        "'a' holds text",
    ),
    "another series of the name": (
        lambda path: open_rows(whole := frame(), (whole["y"] * 2).rename("y"), features=["a"]),
        InvalidInputError,
        "another column of this name",
    ),
    "series in other partitions": (
        lambda path: open_rows(frame()[["a"]], frame(n_partitions=2)["y"]),
        InvalidInputError,
        "3 partitions and the target 2",
    ),
    "target of another kind": (lambda path: open_rows(frame(), TABLE["y"]), InvalidTypeError, "got Series"),
    "rows do not match": (
        lambda path: open_rows(*arrays(ones, np.ones(99))),
        InvalidInputError,
        "100 rows but y has 99",
    ),
    "one dimension": (lambda path: open_rows(numbers[:, 0], numbers[:, 0]), InvalidInputError, "two-dimensional"),
    "two targets": (lambda path: open_rows(numbers, numbers), InvalidInputError, r"\(n_rows, 1\), got \(100, 2\)"),
    "complex": (lambda path: open_rows(numbers + 1j, numbers[:, 0]), InvalidInputError, "Complex data not supported"),
    "numpy target": (lambda path: open_rows(numbers, ones[:, 0]), InvalidTypeError, "a Dask array too, got ndarray"),
    "list of numbers": (lambda path: open_rows([1.0, 2.0], "y"), InvalidTypeError, "got list"),
    "no folder": (lambda path: open_rows(path / "none", "y"), DatasetNotFoundError, "No file"),
    "empty folder": (lambda path: open_rows(path, "y"), InvalidInputError, r"no files ending in .parquet, .pq\.$"),
    "no columns": (lambda path: open_rows(numbers[:, :0], numbers[:, 0]), InvalidInputError, "X has no columns"),
    "folder of folders": (
        lambda path: open_rows(folder_of(path).parent, "y"),
        InvalidInputError,
        "has Parquet files in folders inside it, such as",
    ),
    "another ending": (lambda path: open_rows([Path(__file__)], "y"), InvalidInputError, "no Parquet file by its name"),
    "target unnamed": (lambda path: open_rows(folder_of(path), numbers), InvalidTypeError, "target is a column name"),
    "columns of points": (
        lambda path: open_points(numbers, None, 3),
        InvalidInputError,
        "points have 2 features, the fit had 3",
    ),
}


def test_columns_may_be_named_by_numbers(client: Any) -> None:
    table = TABLE.rename(columns={"a": 0, "count": 1, "y": 2})[[0, 1, 2]]
    rows = (
        place_rows(client, open_rows(frame(table), "2")),
        place_rows(client, open_rows(frame(table)[[0, 1]], frame()["y"])),
    )
    for placed in rows:
        np.testing.assert_allclose(placed.scaling.x_mean, [TABLE["a"].mean(), TABLE["count"].mean()])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_before_rows_are_read(tmp_path: Path, name: str) -> None:
    opened, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        opened(tmp_path)


def test_a_file_without_the_columns_of_the_first_is_named(tmp_path: Path) -> None:
    folder_of(tmp_path)
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "part-9.parquet")
    with pytest.raises(InvalidInputError, match=re.escape("'part-9.parquet' has no column 'count', 'y'")):
        open_rows(tmp_path, "y", features=["a", "count"])


@pytest.mark.parametrize("client_of", [lambda client: None, lambda client: "tcp://127.0.0.1:1"])
def test_what_is_no_client_is_refused(client: Any, client_of: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"A dask.distributed.Client is needed"):
        place_rows(client_of(client), open_rows(numbers, numbers[:, 0]))


def test_a_closed_client_is_refused(client: Any) -> None:
    from distributed import Client

    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(InvalidParameterError, match="client is closed, not running"):
        place_rows(other, open_rows(numbers, numbers[:, 0]))
