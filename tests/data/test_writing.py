from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from gpcommittee.data import ColumnPlan, check_output, open_table, read_table, write_table
from gpcommittee.errors import InvalidInputError, InvalidParameterError, OutputError

ENDINGS = ["csv", "csv.gz", "parquet", "pq"]
COLUMNS = ["mean", "std"]
Batch = dict[str, NDArray[Any]]


def batches(n_batches: int = 3) -> list[Batch]:
    generator = np.random.default_rng(5)
    return [{"std": generator.uniform(size=4) * 1e-7, "mean": generator.normal(size=4) / 3.0} for _ in range(n_batches)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip_keeps_every_digit(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{ending}"
    assert write_table(target, COLUMNS, iter(batches())) == 12
    assert open_table(target).schema.names == COLUMNS
    found = read_table(open_table(target), ColumnPlan(("mean", "std")), with_target=False).X
    for position, name in enumerate(COLUMNS):
        np.testing.assert_array_equal(found[:, position], np.concatenate([batch[name] for batch in batches()]))
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows_still_has_columns(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{ending}"
    assert write_table(target, COLUMNS, []) == 0
    assert read_table(open_table(target), ColumnPlan(("mean", "std")), with_target=False).X.shape == (0, 2)


def test_row_numbers_stay_integers_and_nan_is_missing(tmp_path: Path) -> None:
    part: Batch = {"row": np.array([3, 2**60 + 1]), "mean": np.array([np.nan, 0.5])}
    write_table(tmp_path / "out.csv", ["row", "mean"], [part])
    assert (tmp_path / "out.csv").read_text() == "row,mean\n3,\n1152921504606846977,0.5\n"
    write_table(tmp_path / "out.parquet", ["row", "mean"], [part])
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"row": [3, 2**60 + 1], "mean": [None, 0.5]}


def test_odd_names(tmp_path: Path) -> None:
    names = ["größe, in m", 'say "x"']
    write_table(tmp_path / "out.csv", names, [{name: np.ones(1) for name in names}])
    assert open_table(tmp_path / "out.csv").schema.names == names


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_an_interrupted_run_leaves_what_was_there(ending: str, failure: type[BaseException], tmp_path: Path) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_text("precious")

    def interrupted() -> Iterator[Batch]:
        yield batches()[0]
        raise failure

    with pytest.raises(failure):
        write_table(target, COLUMNS, interrupted())
    assert target.read_text() == "precious"
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disc_is_an_error_that_names_the_file(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"out.{ending}"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OutputError, match=rf"Cannot write '.*out.{ending}': .* Check the free space"):
            write_table(target, COLUMNS, [{name: np.random.default_rng(0).normal(size=10_000) for name in COLUMNS}])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


def test_nothing_has_the_final_name_before_the_end(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"

    def watching() -> Iterator[Batch]:
        for batch in batches():
            assert not target.exists()
            yield batch

    write_table(target, COLUMNS, watching())
    assert target.exists()


def test_links_and_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    write_table(link, COLUMNS, batches())
    assert link.is_symlink()
    assert real.read_text().startswith("mean,std\n")
    umask = os.umask(0)
    os.umask(umask)
    assert real.stat().st_mode & 0o777 == 0o666 & ~umask


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"'out.txt' has an unknown ending. Allowed are .csv"):
        check_output(tmp_path / "out.txt")
    with pytest.raises(InvalidParameterError, match=r"no folder .*nowhere"):
        write_table(tmp_path / "nowhere" / "out.csv", COLUMNS, [])
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidParameterError, match="is a folder"):
        write_table(tmp_path / "folder.csv", COLUMNS, [])
    with pytest.raises(InvalidInputError, match="A batch has columns 'mean'; the file has 'mean', 'std'"):
        write_table(tmp_path / "out.csv", COLUMNS, [{"mean": np.ones(2)}])
    with pytest.raises(InvalidInputError, match=r"equally long, got lengths \{'mean': 2, 'std': 1\}"):
        write_table(tmp_path / "out.csv", COLUMNS, [{"mean": np.ones(2), "std": np.ones(1)}])
    assert os.listdir(tmp_path) == ["folder.csv"]
