from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import make_table, run, with_gaps, write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(make_table(1000), tmp_path / "train.csv")


def test_the_plan_is_that_of_the_table(data: Path) -> None:
    options = ("--test-rows", "5000", "--n-experts", "4", "--communication-size", "100", "--jobs", "1")
    content = json.loads(run("plan", data, "--target", "y", *options, "--format", "json").stdout)
    expected = {
        "n_rows": 1000,
        "n_features": 2,
        "n_test": 5000,
        "n_experts": 4,
        "communication_size": 100,
        "n_workers": 1,
    }
    assert {name: content[name] for name in expected} == expected
    assert content["peak_memory"] > content["factor_bytes"] > 0


def test_the_objective_is_planned(data: Path) -> None:
    texts = [
        run("plan", data, "--target", "y", "--n-experts", "4", "--objective", name, "--format", "json").stdout
        for name in ("factorised", "conditional")
    ]
    factorised, conditional = (json.loads(text)["objective_flops"] for text in texts)
    assert 2 * factorised < conditional


def test_lines_to_read(data: Path) -> None:
    lines = run("plan", data, "--target", "y", "--features", "a", "--test-rows", "5000").output.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == ["table", "experts", "kernel", "machine", "fit", "predict", "memory", "advice"]
    assert lines[0].split(maxsplit=1)[1] == "1,000 rows, 1 feature"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("matern32", "matern32"),
        ("auto", "auto, the best of 5; counted as if it were rational_quadratic, the dearest"),
    ],
)
def test_the_kernel_that_is_counted(data: Path, name: str, line: str) -> None:
    lines = run("plan", data, "--target", "y", "--kernel", name).output.splitlines()
    assert lines[2].split(maxsplit=1) == ["kernel", line]


def test_nothing_is_said_of_a_prediction_that_is_not_planned(data: Path) -> None:
    assert "predict  " not in run("plan", data, "--target", "y").output


def test_incomplete_rows_are_left_out_on_request(tmp_path: Path) -> None:
    data = write(with_gaps(with_gaps(make_table(), "a", [1, 5]), "y", [5, 7]), tmp_path / "train.csv")
    for options, n_rows in (((), 240), (("--drop-missing",), 237)):
        text = run("plan", data, "--target", "y", *options, "--format", "json").stdout
        assert json.loads(text)["n_rows"] == n_rows


def test_a_cluster_is_planned(data: Path, tmp_path: Path) -> None:
    options = ("--target", "y", "--test-rows", "5000", "--expert-size", "10", "--workers", "4")
    content = json.loads(run("plan", data, *options, "--format", "json").stdout)
    expected = {"n_rows": 1000, "n_experts": 100, "n_workers": 4, "n_test": 5000}
    assert {name: content[name] for name in expected} == expected
    assert content["traffic"]["n_shards"] == 32
    lines = run("plan", data, *options).output.splitlines()
    assert [line.split()[0] for line in lines] == [
        *("table", "experts", "cluster", "memory", "traffic", "fit", "predict", "limit"),
    ]

    (tmp_path / "parts").mkdir()
    for part in range(3):
        write(make_table(100), tmp_path / "parts" / f"{part}.parquet")
    text = run("plan", tmp_path / "parts", "--target", "y", "--workers", "2", "--format", "json").stdout
    assert json.loads(text)["n_rows"] == 300


def test_errors(data: Path) -> None:
    jobs = run("plan", data, "--target", "y", "--workers", "2", "--jobs", "2", code=1)
    assert "give one of them" in jobs.output
    kmeans = run("plan", data, "--target", "y", "--workers", "2", "--partition", "kmeans", code=1)
    assert "divided by 'tree' or 'random'" in kmeans.output
    assert "has no column 'z'" in run("plan", data, "--target", "z", code=1).output
    assert "exceeds the 1000 rows" in run("plan", data, "--target", "y", "--n-experts", "2000", code=1).output


def test_a_folder_is_planned_for_a_cluster(tmp_path: Path) -> None:
    text = run("plan", tmp_path, "--target", "y", code=1).stderr
    assert "is a folder. Add --workers N to plan for a cluster that reads it." in text
