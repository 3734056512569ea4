"""UCI sets: their published splits, the scores, and pages that are made from what is stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import uci
from benchmarks._child import ChildError
from benchmarks._uci import N_SPLITS, NAMES, load_uci, masks_uci, standardised
from benchmarks._uci_published import BEST, OTHERS
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import DatasetNotFoundError

RUN: uci.Run = {
    "data": "pol",
    "split": 0,
    "n_train": 13_500,
    "n_test": 1_500,
    "kernel": "matern32",
    "rmse": 0.08,
    "nll": -1.2,
    "coverage": 0.95,
    "mean_squared_z": 1.0,
    "fit_cpu_s": 100.0,
    "predict_cpu_ms": 2.0,
    "peak_memory_gib": 1.0,
    "provenance": "one machine",
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with a made pol of 20 rows, whose split k tests rows 2 k and 2 k + 1."""
    folder = tmp_path / "data" / "uci"
    folder.mkdir(parents=True)
    rows = np.arange(20.0, dtype=np.float32)
    pq.write_table(pa.table({"x0": rows, "x1": -rows, "y": 10.0 * rows}), folder / "pol.parquet")
    test = np.arange(20)[:, None] // 2 == np.arange(N_SPLITS)
    np.savez(folder / "pol_splits.npz", test=np.packbits(test, axis=0), n=20)
    return folder.parent


def test_scores_are_their_formulas() -> None:
    y, mean, std = np.array([0.0, 1.0, -2.0, 3.0]), np.array([0.5, 1.0, -1.0, 0.0]), np.array([0.5, 0.1, 1.0, 1.0])
    z = (y - mean) / std
    expected = {
        "rmse": np.sqrt(np.mean((y - mean) ** 2)),
        "nll": np.mean(0.5 * np.log(2.0 * np.pi * std**2) + 0.5 * z**2),
        "coverage": np.mean(np.abs(z) <= 1.959964),
        "mean_squared_z": np.mean(z**2),
    }
    assert uci.scores(y, mean, std) == pytest.approx(expected)
    assert expected["coverage"] == 0.75


def test_a_split_tests_the_rows_of_its_mask(made: Path) -> None:
    data = load_uci("pol", 3, made)
    np.testing.assert_array_equal(data.X_test, [[6.0, -6.0], [7.0, -7.0]])
    np.testing.assert_array_equal(data.y_test, [60.0, 70.0])
    np.testing.assert_array_equal(data.y_train, np.delete(10.0 * np.arange(20.0), [6, 7]))
    assert data.feature_names == ("x0", "x1")


def test_targets_are_standardised_by_the_training_rows(made: Path) -> None:
    data = load_uci("pol", 9, made)
    scaled = standardised(data)
    assert (scaled.y_train.mean(), scaled.y_train.std()) == pytest.approx((0.0, 1.0))
    np.testing.assert_allclose(scaled.y_test * data.y_train.std() + data.y_train.mean(), data.y_test)


def test_without_files_the_message_says_which(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=r"uci/bike\.parquet and uci/bike_splits\.npz.*uci_datasets"):
        load_uci("bike", 0, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_published_splits_test_every_row_once(name: str, data_dir: Path) -> None:
    test = masks_uci(name, data_dir)
    assert test.shape[1] == N_SPLITS
    np.testing.assert_array_equal(test.sum(axis=1), 1)
    assert np.abs(test.mean(axis=0) - 0.1).max() < 1e-3
    data = load_uci(name, 0, data_dir)
    assert (len(data.y_train), len(data.y_test)) == (int((~test[:, 0]).sum()), int(test[:, 0].sum()))
    assert np.isfinite(data.X_train).all()


def test_a_line_has_means_over_splits_beside_published_figures() -> None:
    other = {**RUN, "split": 1, "kernel": "matern52", "rmse": 0.1, "nll": -1.0, "peak_memory_gib": 2.0}
    assert uci.line("pol", [RUN, other]) == (
        "| pol, 13,500 | matern32, matern52 | 0, 1 | 0.0900 ± 0.0141 | -1.100 ± 0.141 | 0.950 | 1.00 | 100 | 2.00 "
        "| 1.50 | 0.076 / -1.224 (A64) | 0.08 / -1.18 (SDD, from memory) |"
    )
    assert "| – | 0.076" in uci.line("pol", [{**RUN, "peak_memory_gib": None}])


def test_every_set_has_published_figures() -> None:
    assert set(BEST) == set(OTHERS) == set(NAMES)


def test_a_page_is_resumed_and_a_run_that_fails_stops_no_other(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fit_split(data: RegressionData, split: int) -> uci.Run:
        asked.append(split)
        if split == 1:
            raise ChildError("killed")
        return {**RUN, "split": split, "n_train": len(data.y_train)}

    monkeypatch.setenv("GPCOMMITTEE_DATA", str(made))
    monkeypatch.setattr(uci, "fit_split", fit_split)
    page = tmp_path / "page.md"
    assert uci.run_all(["pol"], [0], page, fresh=False) == 0
    assert uci.run_all(["pol"], [0, 1, 2], page, fresh=False) == 1
    assert asked == [0, 1, 2]
    text = page.read_text(encoding="utf-8")
    assert "| pol, 18 | matern32 | 0, 2 | 0.0800 ± 0.0000 |" in text
    assert text.endswith("|\n\none machine\n")
    assert uci.run_all(["pol"], [2], page, fresh=True) == 0
    assert asked == [0, 1, 2, 2]
    assert "| 0, 2 |" in page.read_text(encoding="utf-8")
