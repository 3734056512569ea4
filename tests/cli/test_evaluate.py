from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import FIT, make_table, read, run, values, with_gaps, write
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import RULES, PoE
from gpcommittee.metrics import score_report


@pytest.fixture
def test_table(tmp_path: Path) -> Path:
    return write(make_table(60, seed=2), tmp_path / "test.csv")


def scores(*arguments: str | Path) -> dict[str, dict[str, Any]]:
    """Scores by rule."""
    content = json.loads(run("evaluate", *arguments, "--format", "json", "--quiet").stdout)
    rules: dict[str, dict[str, Any]] = content["rules"]
    return rules


def test_scores_are_those_of_the_library(model: Path, test_table: Path) -> None:
    found = scores(model, test_table, "--aggregation", "all", "--level", "0.9")
    regressor, table = CommitteeRegressor.load(model), read(test_table)
    y, y_train = values(table, "y")[:, 0], values(make_table(), "y")[:, 0]
    assert set(found) == set(RULES) - {"npae"}
    for rule in found:
        mean, std = regressor.predict(table.select(["a", "b"]), return_std=True, aggregation=rule)
        expected = score_report(
            y, mean, std, y_train_mean=y_train.mean(), y_train_var=y_train.var(ddof=1), level=0.9
        ).to_dict()
        assert found[rule].pop("coverage_curve") == expected["coverage_curve"]
        assert found[rule] == pytest.approx({name: expected[name] for name in found[rule]}, rel=1e-9)


def test_json_says_what_was_scored(model: Path, test_table: Path) -> None:
    content = json.loads(run("evaluate", model, test_table, "--format", "json").stdout)
    expected = {
        "model": str(model),
        "data": str(test_table),
        "target": "y",
        "n_points": 60,
        "n_dropped": 0,
        "level": 0.95,
    }
    assert {name: content[name] for name in expected} == expected
    assert list(content["rules"]) == ["neighbourhood"]


def test_the_table_has_a_column_for_each_rule(model: Path, test_table: Path) -> None:
    lines = run("evaluate", model, test_table, "--aggregation", "poe,grbcm,poe", "--quiet").output.splitlines()
    assert lines[0] == f"60 rows of {test_table}, target y:"
    assert lines[1].split() == ["poe", "grbcm"]
    assert [line.split("  ")[0].strip() for line in lines[2:11]] == [
        *("SMSE", "MSLL", "RMSE", "MAE", "NLPD", "CRPS"),
        *("95% coverage", "95% width", "mean squared z"),
    ]
    expected = scores(model, test_table, "--aggregation", "poe,grbcm")
    assert lines[2].split()[1:] == [f"{expected[rule]['smse']:.4g}" for rule in ("poe", "grbcm")]
    assert lines[11:13] == ["", "Targets inside the central interval of each level:"]
    assert lines[13].split() == ["poe", "grbcm"]
    assert [line.split() for line in lines[14:]] == [
        [
            f"{100 * point['level']:g}%",
            *(f"{100 * expected[rule]['coverage_curve'][i]['coverage']:.2f}%" for rule in ("poe", "grbcm")),
        ]
        for i, point in enumerate(expected["poe"]["coverage_curve"])
    ]


def test_the_chosen_rule_has_its_own_name(tmp_path: Path, test_table: Path) -> None:
    train, model = write(make_table(), tmp_path / "train.csv"), tmp_path / "model.gpc"
    run("fit", train, "--target", "y", "--out", model, *FIT, "--aggregation", "auto", "--quiet")
    chosen = CommitteeRegressor.load(model).aggregation_
    assert chosen in RULES
    expected = scores(model, test_table, "--aggregation", f"{chosen},poe")
    assert scores(model, test_table, "--aggregation", f"auto,poe,{chosen}") == expected
    assert scores(model, test_table) == {chosen: expected[chosen]}
    lines = run("evaluate", model, test_table, "--aggregation", "auto", "--quiet").output.splitlines()
    assert lines[1].split() == [chosen]


def test_progress_goes_beside_the_result(model: Path, test_table: Path) -> None:
    result = run("evaluate", model, test_table)
    assert "predict: " in result.stderr
    assert "predict: " not in result.stdout


def test_missing_values(model: Path, tmp_path: Path) -> None:
    data = write(with_gaps(make_table(60), "y", [3, 4]), tmp_path / "test.csv")
    assert "by column 'y' 2" in run("evaluate", model, data, code=1).output
    assert "58 rows of" in run("evaluate", model, data, "--drop-missing").output


def test_another_target(model: Path, tmp_path: Path) -> None:
    table = make_table(60, seed=2)
    data = write(table.rename_columns(["a", "b", "measured"]), tmp_path / "test.csv")
    assert "has no column 'y'" in run("evaluate", model, data, code=1).output
    expected = scores(model, write(table, tmp_path / "named.csv"))
    assert scores(model, data, "--target", "measured") == expected


def test_a_model_from_python(tmp_path: Path, test_table: Path) -> None:
    table = make_table()
    model = tmp_path / "model.gpc"
    regressor = CommitteeRegressor(aggregation=PoE(level="observation"), expert_size=80, optimizer=None)
    regressor.fit(values(table, "a", "b"), values(table, "y")[:, 0]).save(model)
    text = run("evaluate", model, test_table, "--features", "a,b", code=1).output
    assert "does not know the name of its target. Name the column: --target COLUMN." in text
    assert list(scores(model, test_table, "--features", "a,b", "--target", "y")) == ["PoE"]


def test_a_constant_target_leaves_two_scores_undefined(tmp_path: Path) -> None:
    table = make_table().set_column(2, "y", [np.full(240, 3.0)])
    data, model = write(table, tmp_path / "flat.csv"), tmp_path / "model.gpc"
    run("fit", data, "--target", "y", "--out", model, *FIT)
    lines = run("evaluate", model, data).stdout.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("undefined")] == ["SMSE", "MSLL"]


def test_no_rows_to_score(model: Path, tmp_path: Path) -> None:
    data = write(make_table(1).slice(0, 0), tmp_path / "test.csv")
    text = run("evaluate", model, data, code=1).stderr
    assert text.startswith(f"error: '{data}' has no row to score, only a header.")


def test_unknown_rules_are_wrong_usage(model: Path, test_table: Path) -> None:
    text = run("evaluate", model, test_table, "--aggregation", "grbcm,mean,rbmc", code=2).output
    assert "'mean', 'rbmc' is none of" in " ".join(text.split())
    assert "Did you mean rbcm?" in " ".join(text.split())


def test_conformal_intervals_are_scored_beside_the_gaussian_ones(tmp_path: Path, test_table: Path) -> None:
    train, model = write(make_table(), tmp_path / "train.csv"), tmp_path / "model.gpc"
    run("fit", train, "--target", "y", "--out", model, *FIT, "--conformal-rows", "40", "--quiet")
    arguments = ("evaluate", model, test_table, "--aggregation", "npae,auto,poe", "--quiet")
    found = json.loads(run(*arguments, "--format", "json").stdout)["conformal"]
    assert list(found) == ["neighbourhood", "poe"]
    regressor, table = CommitteeRegressor.load(model), read(test_table)
    y = values(table, "y")[:, 0]
    for rule, measured in found.items():
        lower, upper = regressor.predict_interval(table.select(["a", "b"]), 0.95, rule)
        expected = {"coverage": np.mean((lower <= y) & (y <= upper)), "interval_width": np.mean(upper - lower)}
        assert measured == pytest.approx(expected, rel=1e-9)
    lines = run(*arguments).stdout.splitlines()[-4:]
    assert lines[0] == "Conformal intervals, as predict writes them:"
    assert [line.split() for line in lines[1:]] == [
        ["neighbourhood", "poe"],
        ["95%", "coverage", *(f"{measured['coverage']:.4g}" for measured in found.values())],
        ["95%", "width", *(f"{measured['interval_width']:.4g}" for measured in found.values())],
    ]
