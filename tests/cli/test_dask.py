"""--dask: the commands on a cluster, from a file and from a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from command_line import make_table, run, values, write

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install gpcommittee[dask]")

FIT = ("--target", "y", "--expert-size", "40", "--max-evaluations", "60")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster in this process: what other processes change is tested elsewhere."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        dashboard_address=":0",
        scheduler_kwargs={"dashboard": False},
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("rows") / "parts"
    path.mkdir()
    for number in range(3):
        pq.write_table(make_table().slice(80 * number, 80), path / f"{number}.parquet")
    return path


def written(path: Path) -> Any:
    return values(pq.read_table(path), "mean", "std", "lower", "upper")


def test_a_file_and_a_folder_give_the_model_of_one_machine(address: str, folder: Path, tmp_path: Path) -> None:
    file = write(make_table(), tmp_path / "rows.parquet")
    run("fit", file, *FIT, "--out", tmp_path / "here.gpc")
    run("predict", tmp_path / "here.gpc", file, "--out", tmp_path / "here.parquet")
    expected = written(tmp_path / "here.parquet")

    run("fit", file, *FIT, "--dask", address, "--out", tmp_path / "file.gpc")
    told = run("fit", folder, *FIT, "--dask", address, "--out", tmp_path / "folder.gpc").output
    assert "Found 3 parts in parts: 2 features, target y." in told
    run("predict", tmp_path / "file.gpc", file, "--dask", address, "--out", tmp_path / "file.parquet")
    np.testing.assert_allclose(written(tmp_path / "file.parquet"), expected, rtol=1e-8)

    told = run("predict", tmp_path / "folder.gpc", folder, "--dask", address, "--out", tmp_path / "out").output
    assert "Wrote 240 rows in 3 files to" in told
    found = np.concatenate([written(part) for part in sorted((tmp_path / "out").glob("*.parquet"))])
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    told = run("predict", tmp_path / "folder.gpc", folder, "--dask", address, "--out", tmp_path / "out").output
    assert "3 files of an earlier run kept" in told

    scores = [
        run("evaluate", tmp_path / "file.gpc", file, *where, "--format", "json", "--quiet").stdout
        for where in ((), ("--dask", address))
    ]
    assert '"smse"' in scores[0]
    assert len(scores[0].splitlines()) == len(scores[1].splitlines())


def test_what_cannot_be_is_said(folder: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "model.gpc")
    assert "add --dask local:4" in run("fit", folder, *FIT, *out, code=1).output.replace("\n", " ")
    for name in ("local:0", "local:", "nowhere", "local:two"):
        assert "neither the address of a Dask scheduler" in " ".join(
            run("fit", folder, *FIT, *out, "--dask", name, code=2).output.replace("│", " ").split()
        )


def test_rows_for_intervals_are_not_taken_from_a_folder(address: str, folder: Path, tmp_path: Path) -> None:
    told = run(
        "fit", folder, *FIT, "--dask", address, "--conformal-rows", "50", "--out", tmp_path / "model.gpc", code=1
    ).output
    assert "--conformal-rows needs the rows in one table" in told


def test_no_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    monkeypatch.setattr("gpcommittee.cli.work.cluster.CONNECT_SECONDS", 0.2)
    told = run("fit", folder, *FIT, "--dask", "tcp://127.0.0.1:9", "--out", tmp_path / "model.gpc", code=1).output
    assert "There is no Dask scheduler at 'tcp://127.0.0.1:9'" in told
