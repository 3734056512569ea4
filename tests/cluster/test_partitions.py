"""Rows and points that lie on a cluster, from data frame or Parquet folder to files of predictions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from far_rows import POINTS, SETTINGS, X, Y, fitted_here, parameters
from gpcommittee import CommitteeRegressor
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.records import FloatArray

dask_array = pytest.importorskip("dask.array", reason="Dask is not installed: pip install gpcommittee[dask]")
dataframe = pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed")


def folder_of(path: Path, table: pa.Table, rows_per_file: int) -> Path:
    path.mkdir()
    for number, start in enumerate(range(0, len(table), rows_per_file)):
        pq.write_table(table.slice(start, rows_per_file), path / f"{number}.parquet")
    return path


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y})
    return folder_of(tmp_path_factory.mktemp("rows") / "train", table, 100)


@pytest.fixture(scope="module")
def fitted(client: Any, train: Path) -> CommitteeRegressor:
    return CommitteeRegressor(engine=client, **SETTINGS).fit(train, "y")


def test_a_folder_gives_the_model_of_one_machine(fitted: CommitteeRegressor) -> None:
    expected = fitted_here()
    np.testing.assert_allclose(parameters(fitted), parameters(expected), rtol=1e-8)
    assert list(fitted.feature_names_in_) == ["a", "b"]
    frame = pa.table({"a": POINTS[:, 0], "b": POINTS[:, 1]})
    for rule in ("grbcm", "npae"):
        found = fitted.predict(frame, return_std=True, aggregation=rule)
        np.testing.assert_allclose(found, expected.predict(POINTS, return_std=True, aggregation=rule), rtol=1e-7)


def test_a_dask_array_and_a_data_frame_too(client: Any, train: Path, fitted: CommitteeRegressor) -> None:
    settings = {**SETTINGS, "optimizer": None, "aggregation": "auto"}
    rows = dask_array.from_array(X, chunks=(100, 2)), dask_array.from_array(Y, chunks=100)
    by_array = CommitteeRegressor(engine=client, **settings).fit(*rows)
    by_frame = CommitteeRegressor(engine=client, **settings).fit(dataframe.read_parquet(train), "y")
    expected = fitted_here(optimizer=None, aggregation="auto")
    assert by_array.aggregation_ == by_frame.aggregation_ == expected.aggregation_
    np.testing.assert_allclose(by_array.predict(POINTS), expected.predict(POINTS), rtol=1e-9)
    np.testing.assert_allclose(
        by_frame.predict(pa.table({"a": POINTS[:, 0], "b": POINTS[:, 1]})), expected.predict(POINTS), rtol=1e-9
    )
    assert not hasattr(by_array, "feature_names_in_")


def test_a_model_of_far_rows_is_saved_and_pickled_by_gathering(client: Any, train: Path, tmp_path: Path) -> None:
    model = CommitteeRegressor(engine=client, **{**SETTINGS, "optimizer": None}).fit(train, "y")
    model.save(tmp_path / "model.gpc")
    frame = pa.table({"a": POINTS[:, 0], "b": POINTS[:, 1]})
    expected = fitted_here(optimizer=None).predict(POINTS)
    for loaded in (CommitteeRegressor.load(tmp_path / "model.gpc"), pickle.loads(pickle.dumps(model))):
        assert loaded.engine is None
        np.testing.assert_allclose(loaded.predict(frame), expected, rtol=1e-9)
    assert model.partition_.n_experts == fitted_here(optimizer=None).partition_.n_experts
    assert len(model.committee_.y) == len(Y)


def written(folder: Path) -> FloatArray:
    columns = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    return np.concatenate(
        [np.column_stack([table[name].to_numpy() for name in table.column_names]) for table in columns]
    )


@pytest.mark.parametrize("rule", ["grbcm", "npae"])
def test_partitions_are_predicted_into_files_and_taken_up(
    client: Any, train: Path, fitted: CommitteeRegressor, tmp_path: Path, rule: str
) -> None:
    points = folder_of(tmp_path / "points", pa.table({"b": POINTS[:, 1], "a": POINTS[:, 0]}), 25)
    first = fitted.predict_partitions(points, tmp_path / "out", rule, level=0.8)
    assert (first.n_files, first.n_kept, first.n_rows) == (3, 0, len(POINTS))
    frame = pa.table({"a": POINTS[:, 0], "b": POINTS[:, 1]})
    mean, std = fitted.predict(frame, return_std=True, aggregation=rule)
    half = 1.2815515655446004 * std
    expected = np.column_stack([mean, std, mean - half, mean + half])
    np.testing.assert_allclose(written(tmp_path / "out"), expected, rtol=1e-10)

    (tmp_path / "out" / "part-00001.parquet").unlink()
    again = fitted.predict_partitions(points, tmp_path / "out", rule, level=0.8)
    assert (again.n_kept, again.n_rows) == (2, 25)
    np.testing.assert_allclose(written(tmp_path / "out"), expected, rtol=1e-10)
    fitted.save(tmp_path / "model.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "model.gpc").set_params(engine=client)
    refitted = CommitteeRegressor(engine=client, **SETTINGS).fit(train, "y")
    for same in (loaded, refitted):
        assert same.predict_partitions(points, tmp_path / "out", rule, level=0.8).n_kept == 3


def test_what_cannot_be_is_said(client: Any, fitted: CommitteeRegressor, train: Path, tmp_path: Path) -> None:
    rows = dask_array.from_array(X, chunks=(100, 2))
    with pytest.raises(InvalidParameterError, match=r"lie on a cluster; pass its client"):
        CommitteeRegressor().fit(rows, dask_array.from_array(Y, chunks=100))
    with pytest.raises(InvalidParameterError, match=r"partition='kmeans' needs all rows in one process"):
        CommitteeRegressor(engine=client, partition="kmeans").fit(train, "y")
    with pytest.raises(InvalidParameterError, match=r"Partitions are predicted on a cluster"):
        fitted_here().predict_partitions(rows, tmp_path / "out")
    with pytest.raises(InvalidInputError, match="z"):
        CommitteeRegressor(engine=client).fit(train, "z")
