"""Test partitions become files, once: runs that were stopped go on, and nothing stale is taken for a result."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpcommittee.data import ColumnPlan
from gpcommittee.distributed import RowSource, Streamed, open_points, stream_predictions
from gpcommittee.errors import InvalidInputError, InvalidParameterError, WorkerError
from gpcommittee.progress import SilentReporter

dask_array = pytest.importorskip("dask.array", reason="Dask is not installed: pip install gpcommittee[dask]")
dataframe = pytest.importorskip("dask.dataframe", reason="Dask is not installed: pip install gpcommittee[dask]")

X = np.random.default_rng(4).normal(size=(95, 2))
TABLE = pd.DataFrame(X, columns=["a", "b"])
PLAN = ColumnPlan(("a", "b"), "y")


def parquet_folder(folder: Path, table: pd.DataFrame = TABLE) -> Path:
    folder.mkdir(exist_ok=True)
    for i, start in enumerate(range(0, len(table), 40)):
        pq.write_table(pa.Table.from_pandas(table[start : start + 40], preserve_index=False), folder / f"{i}.parquet")
    return folder


def squares(points: Any) -> Any:
    return (points**2).sum(axis=1)


def no_answer(points: Any) -> Any:
    raise RuntimeError(f"no answer at {len(points)} points")


def as_columns(answer: Any) -> dict[str, Any]:
    return {"mean": answer, "std": np.sqrt(answer)}


class Run:
    """Predicts and counts the batches that it is asked for."""

    def __init__(
        self, client: Any, source: RowSource, folder: Path, model: str = "model 1", batch_points: int = 40
    ) -> None:
        self.client, self.source, self.folder, self.model = client, source, folder, model
        self.batch_points = batch_points
        self.batches: list[int] = []
        self.stop_at: int | None = None
        self.function = squares

    def submit(self, points: Any, n_points: int) -> Any:
        if len(self.batches) == self.stop_at:
            raise KeyboardInterrupt
        self.batches.append(n_points)
        return self.client.submit(self.function, points, pure=False)

    def run(self) -> Streamed:
        return stream_predictions(
            self.client,
            self.source,
            self.folder,
            submit=self.submit,
            to_columns=as_columns,
            columns=["mean", "std"],
            model=self.model,
            reporter=SilentReporter(),
            batch_points=self.batch_points,
        )


def written(folder: Path) -> Any:
    return pq.ParquetDataset(folder).read().to_pandas()


@pytest.mark.parametrize(("batch_points", "batches"), [(25, [25, 15] * 2 + [15]), (41, [41, 39, 15]), (1000, [95])])
@pytest.mark.parametrize("kind", ["files", "frame", "array"])
def test_every_partition_becomes_a_file_with_its_rows(
    client: Any, tmp_path: Path, kind: str, batch_points: int, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of several small partitions are predicted together."""
    monkeypatch.setattr("gpcommittee.distributed.stream.IN_FLIGHT", 1)
    parquet_folder(tmp_path / "in")

    def points() -> RowSource:
        if kind == "files":
            return open_points(tmp_path / "in", PLAN, 2)
        if kind == "frame":
            return open_points(dataframe.from_pandas(TABLE, chunksize=40), PLAN, 2)
        return open_points(dask_array.from_array(X, chunks=(40, 1)), None, 2)

    run = Run(client, points(), tmp_path / "out", batch_points=batch_points)
    streamed = run.run()
    assert (streamed.n_files, streamed.n_kept, streamed.n_rows, streamed.n_empty) == (3, 0, 95, 0)
    assert run.batches == batches
    np.testing.assert_array_equal(written(tmp_path / "out")["mean"], squares(X))

    again = Run(client, points(), tmp_path / "out")
    assert again.run().n_kept == 3
    assert again.batches == []


def wait_for_tasks_under_way(client: Any) -> None:
    """Tasks that nobody asks for any more are finished by their workers all the same."""
    while any(client.run(lambda dask_worker: len(dask_worker.state.executing)).values()):
        sleep(0.02)


def test_a_stopped_run_goes_on_with_what_is_missing(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcommittee.distributed.stream.IN_FLIGHT", 1)
    source, out = open_points(parquet_folder(tmp_path / "in"), PLAN, 2), tmp_path / "out"
    stopped = Run(client, source, out)
    stopped.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    wait_for_tasks_under_way(client)
    (out / ".gpcommittee-0123456789abcdef.tmp").write_text("of a worker that was killed")
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert 1 <= len(finished) < 3

    going_on = Run(client, source, out)
    streamed = going_on.run()
    assert streamed.n_kept == len(finished)
    assert len(going_on.batches) == 3 - len(finished)
    assert {name: (out / name).stat().st_mtime_ns for name in finished} == finished
    np.testing.assert_array_equal(written(out)["mean"], squares(X))
    assert sorted(path.name for path in out.iterdir()) == [
        "_gpcommittee.json",
        *(f"part-0000{i}.parquet" for i in range(3)),
    ]


def test_stale_files_are_not_kept(client: Any, tmp_path: Path) -> None:
    source, out = open_points(parquet_folder(tmp_path / "in"), PLAN, 2), tmp_path / "out"
    Run(client, source, out).run()
    assert Run(client, source, out, model="model 2").run().n_kept == 0

    changed = pa.Table.from_pandas(TABLE[40:60] + 1.0, preserve_index=False)
    pq.write_table(changed, tmp_path / "in" / "1.parquet")
    source = open_points(tmp_path / "in", PLAN, 2)
    assert Run(client, source, out, model="model 2").run().n_kept == 2
    np.testing.assert_array_equal(written(out)["mean"][40:60], squares(X[40:60] + 1.0))

    (tmp_path / "in" / "2.parquet").unlink()
    assert Run(client, open_points(tmp_path / "in", PLAN, 2), out, model="model 2").run().n_kept == 2
    assert len(written(out)) == 60


def test_incomplete_rows_have_empty_predictions(client: Any, tmp_path: Path) -> None:
    table = TABLE.assign(a=TABLE["a"].where(TABLE.index % 50 != 3))
    source = open_points(dataframe.from_pandas(table, npartitions=2), PLAN, 2, drop_missing=True)
    streamed = Run(client, source, tmp_path / "out").run()
    assert (streamed.n_rows, streamed.n_empty) == (95, 2)
    expected = np.where(np.arange(95) % 50 == 3, np.nan, squares(X))
    np.testing.assert_array_equal(written(tmp_path / "out")["mean"], expected)


def test_a_partition_without_rows_has_a_file_without_rows(client: Any, tmp_path: Path) -> None:
    source = open_points(dask_array.from_array(X, chunks=((95, 0), 2)), None, 2)
    assert Run(client, source, tmp_path / "out").run().n_rows == 95
    empty = pq.read_table(tmp_path / "out" / "part-00001.parquet")
    assert (empty.num_rows, empty.column_names) == (0, ["mean", "std"])


def test_rows_that_may_be_empty_are_another_question(client: Any, tmp_path: Path) -> None:
    table = TABLE.assign(a=TABLE["a"].where(TABLE.index % 50 != 3))
    parquet_folder(tmp_path / "in", table)
    Run(client, open_points(tmp_path / "in", PLAN, 2, drop_missing=True), tmp_path / "out").run()
    with pytest.raises(InvalidInputError, match="contains missing values"):
        Run(client, open_points(tmp_path / "in", PLAN, 2), tmp_path / "out").run()


def test_nothing_but_predictions_is_ever_removed(client: Any, tmp_path: Path) -> None:
    source = open_points(parquet_folder(tmp_path / "in"), PLAN, 2)
    manifest = tmp_path / "out" / "_gpcommittee.json"
    for name in ("../in/0.parquet", "mine.parquet", "part-00009.parquet"):
        Run(client, source, tmp_path / "out").run()
        (tmp_path / "out" / "part-00009.parquet").mkdir(exist_ok=True)
        (tmp_path / "out" / "mine.parquet").write_text("")
        content = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**content, "parts": {**content["parts"], name: "x"}}))
        with pytest.raises(InvalidParameterError, match="no predictions of this version"):
            Run(client, source, tmp_path / "out").run()
        manifest.write_text(json.dumps(content))
    assert len(list((tmp_path / "in").iterdir())) == 3
    assert (tmp_path / "out" / "mine.parquet").is_file()


def test_bad_points_are_refused_with_their_place(client: Any, tmp_path: Path) -> None:
    bad = TABLE.assign(b=TABLE["b"].where(TABLE.index != 90))
    source = open_points(parquet_folder(tmp_path / "in", bad), PLAN, 2)
    with pytest.raises(InvalidInputError, match=r"'2.parquet' contains missing values .* by column 'b' 1"):
        Run(client, source, tmp_path / "out").run()


def test_a_prediction_that_fails_names_the_partition(client: Any, tmp_path: Path) -> None:
    source = open_points(dask_array.from_array(X, chunks=(95, 2)), None, 2)
    run = Run(client, source, tmp_path / "out", batch_points=100)
    run.function = no_answer
    with pytest.raises(WorkerError, match=r"Predicting partition 0 failed .* no answer at 95 points"):
        run.run()
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_folders_that_hold_something_else_are_refused(client: Any, tmp_path: Path) -> None:
    source = open_points(parquet_folder(tmp_path / "in"), PLAN, 2)
    with pytest.raises(InvalidParameterError, match="has the points to be predicted"):
        Run(client, source, tmp_path / "in").run()
    assert len(list((tmp_path / "in").iterdir())) == 3
    with pytest.raises(InvalidParameterError, match="there is no folder"):
        Run(client, source, tmp_path / "none" / "out").run()
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidParameterError, match="is a file; predictions of partitions need a folder"):
        Run(client, source, tmp_path / "file").run()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_gpcommittee.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InvalidParameterError, match="no predictions of this version"):
        Run(client, source, tmp_path / "other").run()
