"""The paper's kin40k through the command line, from Parquet and from CSV, against the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from command_line import read, run, values, write
from gpcommittee import CommitteeRegressor

N_TRAIN, N_TEST = 3000, 1000
FEATURES = tuple(f"x{i}" for i in range(1, 9))


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")
def test_round_trip(data_dir: Path, tmp_path: Path) -> None:
    train = pq.read_table(data_dir / "kin40k_train.parquet").slice(0, N_TRAIN)
    test = pq.read_table(data_dir / "kin40k_test.parquet").slice(0, N_TEST)
    regressor = CommitteeRegressor(n_experts=6, max_evaluations=3, random_state=0, n_jobs=1)
    regressor.fit(values(train, *FEATURES), values(train, "y")[:, 0])
    expected = np.column_stack([*regressor.predict(values(test, *FEATURES), return_std=True)])
    for ending in ("csv", "parquet"):
        model, out = tmp_path / f"{ending}.gpc", tmp_path / f"predictions.{ending}"
        data = write(train, tmp_path / f"train.{ending}")
        run("fit", data, "--target", "y", "--out", model, "--n-experts", "6", "--max-evaluations", "3", "--jobs", "1")
        run("predict", model, write(test, tmp_path / f"test.{ending}"), "--out", out, "--jobs", "1")
        np.testing.assert_array_equal(values(read(out), "mean", "std"), expected)
