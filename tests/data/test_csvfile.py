from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gpcommittee.data import TableRows, csvfile, open_table, plan_columns, read_table
from gpcommittee.data.arrow_errors import readable
from gpcommittee.errors import InvalidInputError


def read(path: Path, content: str | bytes, expand_dates: bool = False) -> TableRows:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = open_table(path)
    return read_table(source, plan_columns(source, expand_dates=expand_dates), with_target=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\r\n", "\ufeffa,b\n"])
def test_header_only(path: Path, content: str) -> None:
    assert read(path, content).X.shape == (0, 2)


@pytest.mark.parametrize("content", ["", "\n", "\n\n", "   \n"])
def test_empty_files(path: Path, content: str) -> None:
    with pytest.raises(InvalidInputError, match=r"'table.csv' is empty; a CSV file needs a header line"):
        read(path, content)


def test_numbers_as_people_write_them(path: Path) -> None:
    content = 'a\n1\n2.5\n"3"\n 4 \n1e3\n-.5\n+6\n7.\n123456789012345678901234567890\n'
    expected = [1.0, 2.5, 3.0, 4.0, 1000.0, -0.5, 6.0, 7.0, 123456789012345678901234567890.0]
    np.testing.assert_array_equal(read(path, content).X[:, 0], expected)


@pytest.mark.parametrize("content", ["t,b\nTrue,1\nFalse,2\n", "t,b\ntrue,1\nfalse,2\n", "t,b\nTRUE,1\nFALSE,2\n"])
def test_booleans(path: Path, content: str) -> None:
    np.testing.assert_array_equal(read(path, content).X, [[1.0, 1.0], [0.0, 2.0]])


@pytest.mark.parametrize("word", ["", "NaN", "nan", "NA", "N/A", "null", "NULL"])
def test_words_for_missing(path: Path, word: str) -> None:
    with pytest.raises(InvalidInputError, match="in 1 of 2 rows, by column 'a' 1"):
        read(path, f"a,b\n{word},1\n2,3\n")


def test_line_ends_and_byte_order_marks(path: Path) -> None:
    for content in ("a,b\r\n1,2\r\n", "\ufeffa,b\n1,2\n", "a,b\n1,2", "a,b\n\n1,2\n\n"):
        np.testing.assert_array_equal(read(path, content).X, [[1.0, 2.0]])


def test_an_empty_line_of_a_one_column_file_is_a_missing_value(path: Path) -> None:
    with pytest.raises(InvalidInputError, match="in 1 of 3 rows, by column 'a' 1"):
        read(path, "a\n1\n\n3\n")


def test_types_may_change_after_the_first_block(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvfile, "_BLOCK_BYTES", 200)
    content = "a,b\n" + ",1\n" * 200 + "0.5,9007199254740993.5\n"
    with pytest.raises(InvalidInputError, match="in 200 of 201 rows, by column 'a' 200"):
        read(path, content)
    rows = read(
        path, "a,t,b\n" + "1,2020-01-01 00:00:00,1\n" * 200 + "0.5,2020-01-01 00:00:00.25,2.5\n", expand_dates=True
    )
    np.testing.assert_array_equal(rows.X[-1], [0.5, 2020.0, 1.0, 1.0, 0.0, 0.0, 2.5])
    with pytest.raises(
        InvalidInputError, match=r"'b' of 'table.csv' has a value.* that is no number: invalid value 'x'"
    ):
        read(path, "a,b\n" + "1,2\n" * 200 + "1,x\n")


@pytest.mark.parametrize(("row", "said"), [("", "a value that"), ("Row #202: ", "a value in row 202 of the file that")])
def test_value_errors_name_column_and_row_where_arrow_does(row: str, said: str) -> None:
    reason = f"In CSV column #1: {row}CSV conversion error to double: invalid value 'x'"
    expected = f"Column 'b' of 'table.csv' has {said} is no number: invalid value 'x'"
    with pytest.raises(InvalidInputError, match=expected), readable("table.csv", ["a", "b"]):
        raise pa.ArrowInvalid(reason)


def test_text_names_the_column(path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'table.csv'.*'größe' holds text"):
        read(path, "größe,b\nx,1\n")


def test_dates(path: Path) -> None:
    np.testing.assert_array_equal(read(path, "d\n2020-02-29\n", expand_dates=True).X, [[2020.0, 2.0, 29.0]])
    stamps = "t\n2020-02-29 12:34\n2020-02-29 12:35:10\n"
    np.testing.assert_array_equal(read(path, stamps, expand_dates=True).X[:, 4], [34.0, 35.0])
    zones = "t\n2020-02-29 12:00:00+02:00\n2020-02-29 12:00:00Z\n"
    np.testing.assert_array_equal(read(path, zones, expand_dates=True).X[:, 3], [10.0, 12.0])
    with pytest.raises(InvalidInputError, match="by column 't' 1"):
        read(path, "t,x\n2020-02-29 12:34:00,1\n,2\n", expand_dates=True)


def test_quoted_line_breaks_in_columns_left_out(path: Path) -> None:
    path.write_text('a,note\n1,"two\nlines, ""quoted"""\n2,x\n')
    source = open_table(path)
    assert source.count_rows() == 2
    rows = read_table(source, plan_columns(source, features=["a"]), with_target=False)
    np.testing.assert_array_equal(rows.X, [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3\n", "'table.csv' cannot be read.*Expected 2 columns, got 1"),
        ("größe,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16"), "'table.csv' is UTF-16 text. Save it again as UTF-8"),
        ("\ufeffa,b\n1,2\n".encode("utf-16-be"), "is UTF-16 text"),
        (b"a,a\n1,2\n", "more than one column 'a'"),
        (b"a,b\n1,1_000\n", "'b' holds text"),
        (b"a,b\n1,inf\n", "infinity"),
        (b"a,b\n1,1e400\n", "infinity"),
    ],
)
def test_refusals(path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read(path, content)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    with pytest.raises(InvalidInputError, match=r"'table.csv.gz' cannot be read"):
        read(path, b"a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match=r"'table.csv.gz' cannot be read"):
        read(
            path, gzip.compress(b"a,b\n" + bytes(np.random.default_rng(0).integers(48, 57, 10_000).astype("u1")))[:900]
        )


def test_a_file_that_grows_while_it_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("a\n1\n2\n")
    source = open_table(path)
    for n_rows in (1, 3):
        monkeypatch.setattr(source, "count_rows", lambda n_rows=n_rows: n_rows)
        with pytest.raises(InvalidInputError, match="changed while it was read"):
            read_table(source, plan_columns(source), with_target=False)


@pytest.fixture
def arrow_threads() -> Iterator[Callable[[int], None]]:
    before = pa.cpu_count()
    yield pa.set_cpu_count
    pa.set_cpu_count(before)


@pytest.mark.parametrize(("n_threads", "where"), [(1, " in row 11 of the file"), (2, "( in row 11 of the file)?")])
def test_a_later_date_of_another_form(
    path: Path, monkeypatch: pytest.MonkeyPatch, arrow_threads: Callable[[int], None], n_threads: int, where: str
) -> None:
    monkeypatch.setattr(csvfile, "_BLOCK_BYTES", 40)
    arrow_threads(n_threads)
    content = "when,x\n" + "2024-05-01 00:00:00,1\n" * 9 + "13/05/2024 00:00:00,1\n"
    message = rf"a value{where} that is no date of the kind before it: .*13/05/2024.*write dates as ISO 8601"
    with pytest.raises(InvalidInputError, match=message):
        read(path, content, expand_dates=True)
