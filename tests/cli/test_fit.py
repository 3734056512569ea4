from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from command_line import FIT, SETTINGS, make_table, read, run, values, with_gaps, write
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import RULES
from gpcommittee.cli.work.fit import split_rows
from gpcommittee.cli.work.model import named_inputs
from gpcommittee.data import open_table, plan_columns, read_table
from gpcommittee.persistence import read_metadata


def fit(data: Path, *options: str, code: int = 0) -> str:
    """Fit, and give what was said."""
    out = data.parent / "model.gpc"
    return run("fit", data, "--target", "y", "--out", out, *FIT, *options, code=code).output


def test_the_model_is_that_of_the_library(train: Path) -> None:
    fit(train)
    table = read(train)
    X, y = values(table, "a", "b"), values(table, "y")[:, 0]
    expected = CommitteeRegressor(**SETTINGS).fit(X, y).predict(X, return_std=True)
    found = CommitteeRegressor.load(train.parent / "model.gpc").predict(table.select(["a", "b"]), return_std=True)
    np.testing.assert_array_equal(found, expected)


def test_a_table_read_from_a_file_gets_its_names_without_a_copy(train: Path) -> None:
    source = open_table(train)
    X = read_table(source, plan_columns(source, "y")).X
    named = named_inputs(X, ["a", "b"])
    assert named.column_names == ["a", "b"]
    for column, name in enumerate(named.column_names):
        assert np.shares_memory(named[name].chunk(0).to_numpy(), X[:, column])
        np.testing.assert_array_equal(named[name].to_numpy(), X[:, column])


def test_csv_and_parquet_give_the_same_model(train: Path, tmp_path: Path) -> None:
    parquet = write(make_table(), tmp_path / "train.parquet")
    models = []
    for data in (train, parquet):
        fit(data)
        models.append((tmp_path / "model.gpc").read_bytes())
    assert models[0] == models[1]


def test_the_columns_travel_with_the_model(train: Path, tmp_path: Path) -> None:
    fit(train, "--features", "b")
    assert read_metadata(tmp_path / "model.gpc") == {
        "columns": {"features": ["b"], "target": "y", "dates": {}, "zoned": {}}
    }
    assert list(CommitteeRegressor.load(tmp_path / "model.gpc").feature_names_in_) == ["b"]


def test_settings_of_the_committee_reach_the_model(train: Path, tmp_path: Path) -> None:
    options = (
        "--n-experts 4 --communication-size 50 --partition random --kernel matern32 --aggregation rbcm --dtype float32"
    )
    fit(train, *options.split(), "--expert-size", "80", code=1)
    arguments = ("fit", train, "--target", "y", "--out", tmp_path / "model.gpc", "--jobs", "1", "--seed", "3")
    run(*arguments, *options.split(), "--max-evaluations", "2", "--noise-variance", "0.2")
    expected = CommitteeRegressor(
        "matern32",
        aggregation="rbcm",
        n_experts=4,
        communication_size=50,
        partition="random",
        dtype="float32",
        max_evaluations=2,
        noise_variance=0.2,
        random_state=3,
    )
    assert CommitteeRegressor.load(tmp_path / "model.gpc").get_params() == expected.get_params()


def test_settings_of_the_stages_reach_the_model(train: Path, tmp_path: Path) -> None:
    fit(train, "--training-experts", "2", "--partition-metric", "standardised")
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert (model.training_experts, model.partition_metric) == (2, "standardised")
    fit(train, "--training-experts", "all")
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert (model.training_experts, model.partition_metric) == ("all", "learned")


def test_the_objective_reaches_the_model(train: Path, tmp_path: Path) -> None:
    fit(train, "--objective", "conditional")
    assert CommitteeRegressor.load(tmp_path / "model.gpc").objective == "conditional"
    assert "Did you mean conditional?" in fit(train, "--objective", "conditionel", code=2).replace("\n", " ")


def test_variances_of_experts_own_reach_the_model(train: Path, tmp_path: Path) -> None:
    said = fit(train, "--expert-variances", "own")
    assert "times that" in said
    assert CommitteeRegressor.load(tmp_path / "model.gpc").expert_variances_ is not None
    assert "none of shared, own" in fit(train, "--expert-variances", "none", code=2).replace("\n", " ")


def test_calibration_reaches_the_model(train: Path, tmp_path: Path) -> None:
    for option, expected in (("loo", "loo"), ("none", None)):
        fit(train, "--calibration", option)
        assert CommitteeRegressor.load(tmp_path / "model.gpc").calibration == expected
    assert "none of held_out, loo, none" in fit(train, "--calibration", "lo", code=2)


@pytest.mark.parametrize("value", ["0", "-1", "some", "2.5", ""])
def test_training_experts_are_a_number_or_a_name(train: Path, value: str) -> None:
    assert "auto nor all" in fit(train, "--training-experts", value, code=2).replace("\n", " ")


def test_more_training_experts_than_experts(train: Path) -> None:
    assert "--training-experts=4 exceeds the 3 experts" in fit(train, "--training-experts", "4", code=1)


def test_the_model_does_not_remember_this_machine(train: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "fit.log"
    fit(train, "--checkpoint", str(checkpoint), "--memory-budget", "1")
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert checkpoint.exists()
    assert (model.checkpoint, model.n_jobs, model.memory_budget, model.verbose) == (None, None, None, 0)


def test_what_is_said(train: Path) -> None:
    text = fit(train)
    assert "Read 240 rows of train.csv: 2 features, target y." in text
    assert "3 with 80 rows; 80 in the communication set" in text
    assert "train: " in text
    assert text.endswith("model.gpc.\n")


def test_quiet_says_nothing(train: Path) -> None:
    assert fit(train, "--quiet", "--max-evaluations", "2") == ""


def test_warnings_are_one_line(train: Path) -> None:
    lines = fit(train, "--max-evaluations", "2").splitlines()
    assert sum(line.startswith("warning: Training stopped before it converged") for line in lines) == 1


def test_missing_values_are_refused_with_counts(tmp_path: Path) -> None:
    data = write(with_gaps(with_gaps(make_table(), "a", [1, 5, 9]), "y", [5, 7]), tmp_path / "train.csv")
    text = fit(data, code=1)
    assert "missing values (empty or NaN) in 4 of 240 rows, by column 'a' 3, 'y' 2" in text
    assert not (tmp_path / "model.gpc").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("command", ["fit", "plan"])
def test_a_table_without_rows_is_refused(tmp_path: Path, command: str, ending: str) -> None:
    out = () if command == "plan" else ("--out", tmp_path / "model.gpc")
    data = write(make_table(1).slice(0, 0), tmp_path / f"train.{ending}")
    assert run(command, data, "--target", "y", *out, code=1).output == (
        f"error: '{data}' has no row to fit, only a header. Check that this is the file you mean, and that whatever "
        "writes it has finished; it needs at least one row.\n"
    )
    data = write(with_gaps(with_gaps(make_table(3), "a", [0, 1]), "y", [2]), tmp_path / f"train.{ending}")
    assert run(command, data, "--target", "y", *out, "--drop-missing", code=1).output == (
        f"error: '{data}' has no complete row to fit: each of its 3 rows has a missing value. Fill the values in, or "
        "leave columns that are mostly empty out with --features.\n"
    )


def test_rows_with_missing_values_are_left_out_on_request(tmp_path: Path) -> None:
    table, gaps = make_table(), [1, 5, 9]
    fit(write(table.take([row for row in range(240) if row not in gaps]), tmp_path / "train.csv"))
    expected = (tmp_path / "model.gpc").read_bytes()
    text = fit(write(with_gaps(table, "a", gaps), tmp_path / "train.csv"), "--drop-missing")
    assert "Read 237 rows of train.csv (3 incomplete rows left out)" in text
    assert (tmp_path / "model.gpc").read_bytes() == expected


def dated(n_rows: int = 240) -> pa.Table:
    """A target that falls with the hour of the day."""
    when = [datetime(2024, 5, 1) + timedelta(minutes=53 * row) for row in range(n_rows)]
    y = np.array([-moment.hour for moment in when]) + 0.1 * np.random.default_rng(0).standard_normal(n_rows)
    return pa.table({"when": when, "y": y})


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
def test_dates_are_expanded_on_request(name: str, tmp_path: Path) -> None:
    data = write(dated(), tmp_path / name)
    assert "'when' holds timestamps (--expand-dates turns them into numbers" in fit(data, code=1)
    text = fit(data, "--expand-dates")
    assert "5 features" in text
    assert "warning: Constant in all 240 training rows, so nothing can be learnt from it: when_year, when_month" in text
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert list(model.feature_names_in_) == ["when_year", "when_month", "when_day", "when_hour", "when_minute"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "z"), "'train.csv' has no column 'z'; it has 'a', 'b', 'y'."),
        (("--features", "a,c"), "'train.csv' has no column 'c'"),
        (("--features", "a,y"), "Column 'y' is the target and cannot be a feature too."),
        (("--device", "abacus"), "device 'abacus' cannot be used here"),
        (("--out", "no/folder/model.gpc"), "there is no folder"),
        (("--n-experts", "2"), "--n-experts=2 and --expert-size=80 were both given"),
    ],
)
def test_errors_are_one_line(train: Path, options: tuple[str, str], message: str) -> None:
    text = fit(train, "--quiet", *options, code=1)
    assert text.startswith("error: ")
    assert text.count("\n") == 1
    assert message in text


@pytest.mark.parametrize(
    "options",
    [
        ("--kernel", "cubic"),
        ("--partition", "halves"),
        ("--n-experts", "0"),
        ("--noise-variance", "-1"),
        ("--jobs", "0"),
        ("--memory-budget", "nan"),
        ("--unknown",),
    ],
)
def test_wrong_usage(train: Path, options: tuple[str, ...]) -> None:
    fit(train, *options, code=2)


def test_a_name_nearby_is_suggested(train: Path) -> None:
    text = " ".join(fit(train, "--kernel", "matern3", code=2).replace("│", " ").split())
    assert "Value error" not in text
    assert "Did you mean matern32?" in text


def test_day_first_dates_are_told_how_to_write(tmp_path: Path) -> None:
    table = pa.table({"when": [f"{day:02d}/05/2024" for day in range(1, 29)], "y": np.arange(28.0)})
    text = fit(write(table, tmp_path / "train.csv"), "--expand-dates", code=1)
    assert "if these are dates: write dates as ISO 8601, for example 2007-04-28" in text


def test_constant_columns_and_bounds_in_the_summary(tmp_path: Path) -> None:
    table = make_table()
    a, c = table["a"], np.full(240, 3.0)
    train = write(pa.table({"c": c, "a": a, "far": table["b"], "y": a}), tmp_path / "train.csv")
    line = next(line for line in fit(train).splitlines() if line.startswith("  lengthscales"))
    assert re.fullmatch(r"  lengthscales  a \S+, far at its upper bound \(in standard deviations\)", line)


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
def test_unknown_files(tmp_path: Path, name: str) -> None:
    text = fit(tmp_path / name, code=1)
    assert text.startswith(f"error: No file '{tmp_path / name}'")


def test_an_unknown_ending_is_told_first(tmp_path: Path) -> None:
    assert fit(tmp_path / "train.xlsx", code=1).startswith("error: 'train.xlsx' has an unknown ending.")


@pytest.mark.parametrize(("option", "other"), [("--out", "DATA"), ("--checkpoint", "DATA"), ("--checkpoint", "--out")])
def test_no_file_is_both_read_and_written(train: Path, tmp_path: Path, option: str, other: str) -> None:
    before = train.read_bytes()
    same = train if other == "DATA" else tmp_path / "model.gpc"
    text = fit(train, option, str(same), code=1)
    assert "are the same file" in text
    assert train.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.csv"]


def test_the_chosen_rule_and_the_scores_are_shown(train: Path, tmp_path: Path) -> None:
    text = fit(train, "--aggregation", "auto")
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert f"aggregation   {model.aggregation_}, by MSLL on 24 rows held out" in text
    table = text[text.index("held out") :].splitlines()[1:]
    assert table[0].split() == ["SMSE", "MSLL", "coverage", "squared", "z"]
    ordered = sorted(model.aggregation_scores_, key=lambda name: model.aggregation_scores_[name].nlpd)
    assert [line.split()[0] for line in table[1 : 1 + len(ordered)]] == ordered
    shown = run("evaluate", tmp_path / "model.gpc", train, "--quiet").output.splitlines()
    assert shown[1].split() == [model.aggregation_]


def test_conformal_rows_are_not_fitted(train: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.gpc"
    text = run("fit", train, "--target", "y", "--out", out, *FIT, "--conformal-rows", "40").output
    model, table = CommitteeRegressor.load(out), values(read(train), "a", "b", "y")
    fitted, held = split_rows(240, 40, 0)
    assert not isinstance(fitted, slice)
    assert sorted([*fitted, *held]) == list(range(240))
    assert len(held) == 40
    own = CommitteeRegressor(**SETTINGS).fit(pa.table({"a": table[fitted, 0], "b": table[fitted, 1]}), table[fitted, 2])
    frame = pa.table({"a": table[held, 0], "b": table[held, 1]})
    np.testing.assert_array_equal(model.predict(frame), own.predict(frame))
    expected = own.conformalize(frame, table[held, 2]).interval_half_width()
    assert model.interval_half_width() == pytest.approx(expected, rel=1e-10)
    assert f"conformal, by 40 rows held out: 95% within {expected:.3g} standard deviations" in text
    for rule in set(RULES) - {"npae"}:
        assert model.interval_half_width(0.9, rule) > 0


def test_conformal_rows_that_cannot_be(train: Path, tmp_path: Path) -> None:
    arguments = ("fit", train, "--target", "y", "--out", tmp_path / "m.gpc", "--conformal-rows")
    text = run(*arguments, "121", code=1).stderr
    assert "--conformal-rows 121 is more than half of the 240 rows of the table. Hold out fewer." in text
    run(*arguments, "18", code=2)


def test_the_chosen_kernel_and_the_scores_are_shown(train: Path, tmp_path: Path) -> None:
    text = fit(train, "--kernel", "auto")
    model = CommitteeRegressor.load(tmp_path / "model.gpc")
    scores = model.kernel_scores_
    ordered = sorted(scores, key=lambda name: scores[name].criterion)
    assert f"kernel        {ordered[0]}, by nats per row on {scores[ordered[0]].n_rows} rows" in text
    table = text[text.index("nats per row") :].splitlines()[1:7]
    assert table[0].split() == ["objective", "criterion"]
    expected = [[name, f"{scores[name].objective:.4f}", f"{scores[name].criterion:.4f}"] for name in ordered]
    assert [line.split() for line in table[1:]] == expected
