"""Runs are stored whole, with what made them, and not run twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.paper import __main__ as command
from benchmarks.paper.data import load
from benchmarks.paper.run import Place
from benchmarks.paper.spec import RunSpec
from benchmarks.paper.store import StaleResultError, is_done, read_curves, read_rows, write_rows
from gpcommittee import paper_committee
from gpcommittee.aggregation import PAPER_RULES
from gpcommittee.metrics import smse
from small_runs import toy_run


def test_scores_are_those_of_the_library_run_by_hand(stored: Path) -> None:
    run = toy_run(120)
    data = load(run.data, None).regression
    model = paper_committee(3, random_state=0).set_params(max_evaluations=2, n_jobs=1)
    with pytest.warns(UserWarning, match="before it converged"):
        model.fit(data.X_train, data.y_train)
    rows = {(row["method"], row["form"]): row for row in read_rows(stored, "toy") if row["run"] == run.name}
    for name, rule in PAPER_RULES.items():
        expected = smse(data.y_test, np.asarray(model.predict(data.X_test, aggregation=rule)))
        assert rows[name, "paper"]["smse"] == pytest.approx(expected, rel=1e-9)
    assert {method for method, form in rows if form == "baseline"} == {"full_gp"}


def test_a_result_holds_settings_versions_machine_and_times(stored: Path) -> None:
    row = read_rows(stored, "toy")[0]
    assert json.loads(str(row["settings"]))["system"]["n_experts"] == 3
    assert {"python", "torch", "numpy", "gpcommittee", "commit"} <= json.loads(str(row["versions"])).keys()
    assert row["machine_cpu"]
    times = [row[name] for name in ("fit_wall_s", "fit_cpu_s", "predict_wall_s", "dgemm_gflops")]
    assert all(isinstance(value, float) and value > 0 for value in times)
    assert any("before it converged" in message for message in json.loads(str(row["warnings"])))


def test_curves_are_stored_where_asked_for(stored: Path) -> None:
    curves = read_curves(stored, "toy")
    assert {row["run"] for row in curves} == {"toy-n120-r00", "toy-n240-r00"}
    assert len(curves) == 2 * 281 * len({(row["method"], row["form"]) for row in curves})


def test_a_stored_run_is_skipped(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.stat().st_mtime_ns for file in stored.rglob("*.parquet")}
    assert command.run_all([toy_run(120)], Place(stored), redo=False) == 0
    assert capsys.readouterr().out == "toy-n120-r00: stored already\n"
    assert {file: file.stat().st_mtime_ns for file in stored.rglob("*.parquet")} == before


def test_a_result_of_another_definition_is_refused(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = toy_run(120, max_evaluations=3)
    with pytest.raises(StaleResultError, match="made with other settings"):
        is_done(stored, other)
    assert command.run_all([other], Place(stored), redo=False) == 2
    assert "--redo" in capsys.readouterr().err


def test_an_interrupted_study_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [toy_run(60, repeat, npae=False, exact=False) for repeat in range(3)]
    done: list[str] = []

    def stopped_at_the_second(spec: RunSpec, place: Place) -> float:
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(spec.name)
        write_rows(place.results / spec.study / f"{spec.name}.parquet", [{"settings": spec.settings()}])
        return 0.0

    monkeypatch.setattr(command, "execute", stopped_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        command.run_all(runs, Place(tmp_path), redo=False)
    monkeypatch.undo()
    assert command.run_all(runs, Place(tmp_path), redo=False) == 0
    assert capsys.readouterr().out.count("stored already") == 1
    assert len(list((tmp_path / "toy").glob("*.parquet"))) == 3


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "one.parquet"
    write_rows(file, [{"value": 1}])
    with pytest.raises(pa.ArrowInvalid):
        write_rows(file, [{"value": object()}])
    assert [path.name for path in tmp_path.iterdir()] == ["one.parquet"]


def test_the_command_lists_runs_and_selects_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["toy", "--list", "--sizes", "10000,50000", "--repeats", "2", "--only", "*-r01"]
    assert command.main([*arguments, "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["to", "run", "toy-n10000-r01", "to", "run", "toy-n50000-r01"]


def test_missing_data_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.main(["song", "--data", str(tmp_path), "--results", str(tmp_path)]) == 2
    assert "YearPredictionMSD" in capsys.readouterr().err
