"""Loaders on small files made here; the real files are for test_real_files.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from gpcommittee.datasets import RegressionData, load_electric, load_kin40k, load_sarcos, load_song
from gpcommittee.errors import DatasetNotFoundError, InvalidInputError, InvalidParameterError
from gpcommittee.records import FloatArray

generator = np.random.default_rng(4)
SARCOS_COLUMNS = [f"{quantity}{joint}" for quantity in ("pos", "vel", "acc", "torque") for joint in range(1, 8)]
UCI_POWER = """\
Date;Time;Global_active_power;Global_reactive_power;Voltage;Global_intensity;Sub_metering_1;Sub_metering_2;Sub_metering_3
16/12/2006;17:24:00;4.216;0.418;234.840;18.400;0.000;1.000;17.000
28/4/2007;00:21:00;?;?;?;?;?;?;
28/4/2007;00:22:00;0.300;0.100;240.000;1.200;0.000;0.000;18.000
"""


def write_columns(path: Path, names: list[str], values: FloatArray) -> None:
    pq.write_table(pa.table(dict(zip(names, values.T, strict=True))), path)


def rows_of(data: RegressionData) -> set[tuple[float, ...]]:
    """All rows, inputs and target."""
    pairs = ((data.X_train, data.y_train), (data.X_test, data.y_test))
    return {tuple(row) for X, y in pairs for row in np.column_stack([X, y])}


@pytest.mark.parametrize("load", [load_kin40k, load_sarcos, load_song, load_electric])
def test_what_to_do_without_the_files(
    load: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPCOMMITTEE_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match=r"No path was given and GPCOMMITTEE_DATA is not set.*https://"):
        load()
    with pytest.raises(DatasetNotFoundError, match=r"in the folder .*https://.*pass their folder as path, or set"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"in the folder '.*missing'"):
        load(tmp_path / "missing")
    monkeypatch.setenv("GPCOMMITTEE_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="in the folder"):
        load()


def test_kin40k_in_both_formats(tmp_path: Path) -> None:
    train, test = generator.normal(size=(6, 9)), generator.normal(size=(4, 9))
    parquet, text = tmp_path / "parquet", tmp_path / "text"
    parquet.mkdir()
    text.mkdir()
    for name, values in (("train", train), ("test", test)):
        write_columns(parquet / f"kin40k_{name}.parquet", [*(f"x{i}" for i in range(1, 9)), "y"], values)
        np.savetxt(text / f"kin40k_{name}_data.asc", values[:, :8], fmt="%.17g")
        np.savetxt(text / f"kin40k_{name}_labels.asc", values[:, 8], fmt="%.17g")
    for path in (parquet, parquet / "kin40k_test.parquet", text):
        data = load_kin40k(path)
        np.testing.assert_array_equal(data.X_train, train[:, :8])
        np.testing.assert_array_equal(data.y_train, train[:, 8])
        np.testing.assert_array_equal(data.X_test, test[:, :8])
        np.testing.assert_array_equal(data.y_test, test[:, 8])
    (text / "kin40k_test_labels.asc").write_text("1 2\n3 4\n")
    with pytest.raises(
        InvalidInputError, match=r"must be a table of finite numbers with 1 columns, got shape \(2, 2\)"
    ):
        load_kin40k(text)
    (text / "kin40k_test_labels.asc").write_text("one\n")
    with pytest.raises(InvalidInputError, match=r"'kin40k_test_labels.asc' is not a table of numbers"):
        load_kin40k(text)


def test_sarcos_with_both_files(tmp_path: Path) -> None:
    train, test = generator.normal(size=(6, 28)), generator.normal(size=(4, 28))
    matlab, parquet = tmp_path / "matlab", tmp_path / "parquet"
    matlab.mkdir()
    parquet.mkdir()
    scipy.io.savemat(matlab / "sarcos_inv.mat", {"sarcos_inv": train})
    scipy.io.savemat(matlab / "sarcos_inv_test.mat", {"sarcos_inv_test": test})
    write_columns(parquet / "sarcos_train_file.parquet", SARCOS_COLUMNS, train)
    write_columns(parquet / "sarcos_test_file.parquet", SARCOS_COLUMNS, test)
    for path in (matlab, matlab / "sarcos_inv.mat", parquet):
        data = load_sarcos(path, torque=3)
        np.testing.assert_array_equal(data.X_train, train[:, :21])
        np.testing.assert_array_equal(data.y_train, train[:, 23])
        np.testing.assert_array_equal(data.X_test, test[:, :21])
        np.testing.assert_array_equal(data.y_test, test[:, 23])
        assert data.feature_names == tuple(SARCOS_COLUMNS[:21])
        assert "as in the paper" in data.note
    (matlab / "sarcos_inv.mat").write_bytes(b"nothing of MATLAB's" * 20)
    with pytest.raises(InvalidInputError, match=r"'sarcos_inv.mat' is not a readable MATLAB file"):
        load_sarcos(matlab)
    scipy.io.savemat(matlab / "sarcos_inv.mat", {"other": train})
    with pytest.raises(InvalidInputError, match=r"'sarcos_inv.mat' holds no matrix 'sarcos_inv'"):
        load_sarcos(matlab)


def test_sarcos_with_the_test_file_alone(tmp_path: Path) -> None:
    values = generator.normal(size=(10, 28))
    write_columns(tmp_path / "sarcos_test_file.parquet", SARCOS_COLUMNS, values)
    data = load_sarcos(tmp_path, n_train=7, seed=5)
    assert (data.X_train.shape, data.X_test.shape) == ((7, 21), (3, 21))
    assert rows_of(data) == {tuple(row) for row in values[:, :22]}
    assert "Not the paper's split" in data.note
    assert "7 of its rows (drawn with seed 5)" in data.note
    np.testing.assert_array_equal(data.X_train, load_sarcos(tmp_path, n_train=7, seed=5).X_train)
    assert not np.array_equal(data.X_train, load_sarcos(tmp_path, n_train=7, seed=6).X_train)
    for n_train in (0, 10):
        with pytest.raises(InvalidParameterError, match=f"n_train must lie between 1 and 9, .* got {n_train}"):
            load_sarcos(tmp_path, n_train=n_train)
    with pytest.raises(InvalidParameterError, match="torque must be the number of a joint, 1 to 7, got 8"):
        load_sarcos(tmp_path, torque=8)


def test_song(tmp_path: Path) -> None:
    values = np.column_stack([np.arange(1990.0, 2002.0), generator.normal(size=(12, 90))])
    file = tmp_path / "YearPredictionMSD.txt"
    np.savetxt(file, values, delimiter=",", fmt="%.17g")
    for path in (tmp_path, file):
        data = load_song(path, n_train=8)
        assert (data.X_train.shape, data.X_test.shape, len(data.feature_names)) == ((8, 90), (4, 90), 90)
        assert rows_of(data) == {(*row[1:], row[0]) for row in values}
    with pytest.raises(InvalidParameterError, match="n_train must lie between 1 and 11"):
        load_song(file)
    for content, message in (
        ("1,2,3\n", "with 91 columns, got shape"),
        ("a\n", "is not a table of numbers"),
        ("", "is not a table of numbers"),
    ):
        file.write_text(content)
        with pytest.raises(InvalidInputError, match=message):
            load_song(file, n_train=1)


def test_electric_from_the_original_file(tmp_path: Path) -> None:
    file = tmp_path / "household_power_consumption.txt"
    file.write_text(UCI_POWER)
    data = load_electric(tmp_path, n_train=1)
    assert rows_of(data) == {
        (2006.0, 12.0, 16.0, 17.0, 24.0, 0.418, 234.84, 18.4, 0.0, 1.0, 17.0, 4.216),
        (2007.0, 4.0, 28.0, 0.0, 22.0, 0.1, 240.0, 1.2, 0.0, 0.0, 18.0, 0.3),
    }
    assert data.feature_names[:6] == ("year", "month", "day", "hour", "minute", "Global_reactive_power")
    for content in ("a;b\n1;2\n", "", UCI_POWER.replace("16/12", "2006/12/16 ")):
        file.write_text(content)
        with pytest.raises(InvalidInputError, match="is not UCI's file of household power"):
            load_electric(file, n_train=1)


def test_electric_from_parquet(tmp_path: Path) -> None:
    names = UCI_POWER.split("\n")[0].split(";")[2:]
    columns: dict[str, Any] = {"date_time": np.array(["2006-12-16T17:24", "2007-04-28T00:22"], "datetime64[us]")}
    columns |= {name: [1.0 + i, 2.0 + i] for i, name in enumerate(names)}
    pq.write_table(pa.table(columns), tmp_path / "household_power.parquet")
    data = load_electric(tmp_path, n_train=1, seed=2)
    assert rows_of(data) == {
        (2006.0, 12.0, 16.0, 17.0, 24.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1.0),
        (2007.0, 4.0, 28.0, 0.0, 22.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 2.0),
    }
