from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from command_line import run
from gpcommittee import CommitteeRegressor
from gpcommittee.cli.work.demo import score_points, trained_on
from gpcommittee.cli.work.evaluate import scores_as_table
from gpcommittee.datasets import Geoid, load_geoid, load_geoid_grid
from gpcommittee.datasets.geoid import load_geoid_split

QUICK = ("--rows", "600", "--step", "10", "--jobs", "1")


def test_demo_leaves_a_picture_and_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    text = run("demo", *QUICK, "--out-dir", folder).output
    assert sorted(path.name for path in folder.iterdir()) == ["geoid.gpc", "geoid.png"]
    assert (folder / "geoid.png").read_bytes().startswith(b"\x89PNG")
    assert CommitteeRegressor.load(folder / "geoid.gpc").n_features_in_ == 3
    assert "points of the map not among the training data" in text
    assert {"SMSE", "CRPS"} <= set(text.split())
    assert "RMSE (m) " in text
    assert "95% width (m) " in text


def test_quiet_says_the_scores_only(tmp_path: Path) -> None:
    lines = run("demo", *QUICK, "--out-dir", tmp_path / "demo", "--quiet").output.splitlines()
    assert lines[0].startswith("Scores at ")
    assert lines[-1].startswith("mean squared z")


def test_points_held_out_at_random_are_scored_and_the_cost_told(tmp_path: Path) -> None:
    text = run("demo", *QUICK, "--test-rows", "300", "--expert-size", "100", "--out-dir", tmp_path / "demo").output
    assert "Scores at 300 points held out at random:" in text
    cost = dict(re.findall(r"^  (fit|map|points held out|peak memory)  +(.*)$", text, flags=re.MULTILINE))
    assert len(cost) == 4
    assert all(" s, processor " in cost.pop(stage) for stage in ("fit", "map", "points held out"))
    assert 0.1 < float(cost["peak memory"].removesuffix(" GB")) < 100
    model = CommitteeRegressor.load(tmp_path / "demo" / "geoid.gpc")
    assert model.partition_.n_experts == 6
    train, test = load_geoid_split(600, 300, seed=0)
    assert model.scaling_.y_mean == pytest.approx(train.height.mean(), rel=1e-12)
    report = score_points(model, test)
    assert scores_as_table({"neighbourhood": report}, report.level, unit="m") in text


def test_more_points_than_there_are_cannot_be_held_out(tmp_path: Path) -> None:
    text = run("demo", *QUICK, "--test-rows", "1038000", "--out-dir", tmp_path / "demo", code=1).output
    assert text.startswith("error: n_train and n_test must be at least 1, n_test at most 1035360")
    assert not (tmp_path / "demo").exists()


def test_trained_points_are_not_held_out() -> None:
    grid, everything = load_geoid_grid(40), load_geoid()
    none = trained_on(load_geoid(1, seed=5), grid)
    assert none.sum() == 0
    cells = np.flatnonzero((everything.latitude == 90.0) & (everything.longitude == 0.25))
    pole = Geoid(*(field[cells] for field in vars(everything).values()))
    assert trained_on(pole, grid).sum() == len(grid.longitude)
    assert trained_on(everything, grid).all()


def test_a_step_that_misses_the_poles_is_refused(tmp_path: Path) -> None:
    text = run("demo", "--step", "7", "--out-dir", tmp_path / "demo", code=1).output
    assert text.startswith("error: --step is 7 degrees; the map needs a multiple of 0.25 that divides 180")
    assert not (tmp_path / "demo").exists()


def test_a_map_without_unseen_points_is_refused(tmp_path: Path) -> None:
    text = run("demo", "--rows", "1038240", "--step", "90", "--out-dir", tmp_path / "demo", code=1).output
    assert text.startswith("error: --rows 1038240 leaves no point of the map to score.")
    assert not (tmp_path / "demo").exists()


def test_without_matplotlib_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcommittee.plots.backend.find_spec", lambda _: None)
    text = run("demo", *QUICK, "--out-dir", tmp_path / "demo", code=1).output
    assert text.endswith("Install it with: pip install 'gpcommittee[plots]'\n")
    assert not (tmp_path / "demo").exists()
