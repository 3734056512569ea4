"""Small tables and one fitted model."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import FIT, make_table, run, write


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write(make_table(), tmp_path / "train.csv")


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write(make_table(50, seed=1), tmp_path / "new.parquet")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of y by a and b."""
    folder = tmp_path_factory.mktemp("model")
    train = write(make_table(), folder / "train.parquet")
    run("fit", train, "--target", "y", "--out", folder / "model.gpc", *FIT, "--quiet")
    return folder / "model.gpc"
