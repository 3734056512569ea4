from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from command_line import FIT, make_table, read, run, values, with_gaps, write
from gpcommittee import CommitteeRegressor, progress
from gpcommittee.cli.work.predict import full_batches, in_every_row
from gpcommittee.data import TableRows
from gpcommittee.prediction import stream
from gpcommittee.records import FloatArray

OUTPUT = ("mean", "std", "lower", "upper")


def predict(model: Path, data: Path, name: str = "out.parquet", *options: str) -> FloatArray:
    """The predictions that the command writes, shape (n_rows, 4)."""
    out = data.parent / name
    run("predict", model, data, "--out", out, "--jobs", "1", *options)
    table = read(out)
    assert table.column_names == list(OUTPUT)
    return values(table, *OUTPUT)


def in_python(model: Path, data: Path, **options: object) -> FloatArray:
    """Mean and standard deviation by the library, shape (n_rows, 2)."""
    regressor = CommitteeRegressor.load(model)
    return np.column_stack(regressor.predict(read(data).select(["a", "b"]), return_std=True, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("result", ["out.csv", "out.parquet"])
def test_predictions_are_those_of_the_library(model: Path, tmp_path: Path, source: str, result: str) -> None:
    data = write(make_table(50, seed=1), tmp_path / source)
    np.testing.assert_array_equal(predict(model, data, result)[:, :2], in_python(model, data))


def test_the_interval_has_its_level(model: Path, new: Path) -> None:
    mean, std, lower, upper = predict(model, new, "out.parquet", "--level", "0.5").T
    np.testing.assert_allclose(upper - mean, 0.6744897501960817 * std, rtol=1e-12)
    np.testing.assert_allclose(mean - lower, 0.6744897501960817 * std, rtol=1e-12)


def test_latent_uncertainty_leaves_the_noise_out(model: Path, new: Path) -> None:
    found = predict(model, new, "out.parquet", "--latent")[:, :2]
    np.testing.assert_array_equal(found, in_python(model, new, include_noise=False))
    assert (found[:, 1] < in_python(model, new)[:, 1]).all()


def test_any_rule_without_fitting_again(model: Path, new: Path) -> None:
    found = predict(model, new, "out.parquet", "--aggregation", "rbcm")[:, :2]
    np.testing.assert_array_equal(found, in_python(model, new, aggregation="rbcm"))


def test_columns_are_found_by_name(model: Path, new: Path, tmp_path: Path) -> None:
    table = read(new)
    shuffled = pa.table({"b": table["b"], "name": pa.array(["x"] * 50), "a": table["a"]})
    data = write(shuffled, tmp_path / "shuffled.csv")
    np.testing.assert_array_equal(predict(model, data), predict(model, new))


def test_a_missing_column_is_named(model: Path, new: Path, tmp_path: Path) -> None:
    data = write(read(new).select(["a", "y"]), tmp_path / "narrow.csv")
    text = run("predict", model, data, "--out", tmp_path / "out.csv", code=1).output
    assert text.startswith("error: 'narrow.csv' has no column 'b'; it has 'a', 'y'.")
    assert not (tmp_path / "out.csv").exists()


def test_missing_inputs_are_refused_with_counts(model: Path, tmp_path: Path) -> None:
    data = write(with_gaps(make_table(50), "a", [3, 4]), tmp_path / "new.csv")
    text = run("predict", model, data, "--out", tmp_path / "out.csv", code=1).output
    assert "missing values (empty or NaN) in 2 of 50 rows, by column 'a' 2" in text
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("gaps", [[0, 1, 20, 49], list(range(40)), list(range(50))])
@pytest.mark.parametrize("batch_rows", ["7", "8192"])
def test_every_row_keeps_its_place(model: Path, tmp_path: Path, gaps: list[int], batch_rows: str) -> None:
    whole = write(make_table(50, seed=1), tmp_path / "whole.parquet")
    data = write(with_gaps(read(whole), "a", gaps), tmp_path / "new.csv")
    found = predict(model, data, "out.parquet", "--drop-missing", "--batch-rows", batch_rows)
    complete = np.setdiff1d(np.arange(50), gaps)
    assert np.isnan(found[gaps]).all()
    np.testing.assert_allclose(found[complete, :2], in_python(model, whole)[complete], rtol=1e-9)


def test_what_is_said(model: Path, tmp_path: Path) -> None:
    data = write(with_gaps(make_table(50), "a", [3, 4]), tmp_path / "new.csv")
    text = run("predict", model, data, "--out", tmp_path / "out.csv", "--drop-missing").output
    assert text.startswith("predict: 48 of 48 rows in ")
    assert text.endswith("out.csv; 2 of them empty, for rows with missing values.\n")


def test_progress_moves_within_a_batch(train: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "grbcm.gpc"
    run("fit", train, "--target", "y", "--out", model, *FIT, "--aggregation", "grbcm", "--quiet")
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.0)
    monkeypatch.setattr(stream, "CHUNK", 10)
    text = run("predict", model, new, "--out", tmp_path / "out.csv", "--jobs", "1").output
    assert [line.split(" rows")[0] for line in text.splitlines()[:3]] == [
        "predict: 10 of 50",
        "predict: 20 of 50",
        "predict: 30 of 50",
    ]


def test_quiet_says_nothing(model: Path, new: Path, tmp_path: Path) -> None:
    assert run("predict", model, new, "--out", tmp_path / "out.csv", "--quiet").output == ""


def test_a_table_without_rows(model: Path, tmp_path: Path) -> None:
    data = write(make_table(1).slice(0, 0), tmp_path / "new.csv")
    assert predict(model, data).shape == (0, 4)


@pytest.mark.parametrize("which", ["data", "model"])
def test_inputs_are_never_overwritten(model: Path, new: Path, tmp_path: Path, which: str) -> None:
    copy = tmp_path / "model.parquet"
    copy.write_bytes(model.read_bytes())
    target = new if which == "data" else copy
    before = target.read_bytes()
    text = run("predict", copy, new, "--out", target, code=1).output
    assert "are the same file" in text
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    ("out", "message"), [("out.txt", "unknown ending"), ("no/out.csv", "there is no folder"), ("", "unknown ending")]
)
def test_an_output_that_cannot_be_written(model: Path, new: Path, tmp_path: Path, out: str, message: str) -> None:
    text = run("predict", model, new, "--out", tmp_path / out, "--quiet", code=1).output
    assert text.startswith("error: ")
    assert message in text


def test_a_file_that_is_no_model(new: Path, tmp_path: Path) -> None:
    text = run("predict", new, new, "--out", tmp_path / "out.csv", code=1).output
    assert "is not a gpcommittee model file" in text


def test_dates_are_expanded_as_in_the_fit(tmp_path: Path) -> None:
    when = [datetime(2024, 5, 1) + timedelta(minutes=53 * row) for row in range(240)]
    y = np.array([-moment.hour for moment in when]) + 0.1 * np.random.default_rng(0).standard_normal(240)
    table = pa.table({"when": when, "y": y})
    train, new = write(table, tmp_path / "train.csv"), write(table.select(["when"]), tmp_path / "new.parquet")
    model = tmp_path / "model.gpc"
    run("fit", train, "--target", "y", "--out", model, "--expand-dates", "--quiet", *FIT)
    X = np.array([(m.year, m.month, m.day, m.hour, m.minute) for m in when], dtype=float)
    regressor = CommitteeRegressor.load(model)
    names = list(regressor.feature_names_in_)
    inputs = pa.table({name: X[:, i] for i, name in enumerate(names)})
    np.testing.assert_array_equal(predict(model, new)[:, :2].T, regressor.predict(inputs, return_std=True))


def test_dates_of_another_kind_are_told(tmp_path: Path) -> None:
    when = [datetime(2024, 5, 1) + timedelta(minutes=53 * row) for row in range(240)]
    train = write(pa.table({"when": when, "y": [float(m.hour) for m in when]}), tmp_path / "train.csv")
    model, out = tmp_path / "model.gpc", tmp_path / "out.csv"
    run("fit", train, "--target", "y", "--out", model, "--expand-dates", "--quiet", *FIT)
    new = write(pa.table({"when": pa.array(when, pa.timestamp("us", "UTC"))}), tmp_path / "new.parquet")
    text = run("predict", model, new, "--out", out).output
    assert text.count("warning: Column 'when' has a time zone, but had none in training") == 1


def test_a_model_from_python_with_names(tmp_path: Path, new: Path) -> None:
    table = make_table()
    model = tmp_path / "model.gpc"
    CommitteeRegressor(expert_size=80, optimizer=None).fit(table.select(["b", "a"]), table["y"].to_numpy()).save(model)
    expected = CommitteeRegressor.load(model).predict(read(new).select(["b", "a"]), return_std=True)
    np.testing.assert_array_equal(predict(model, new)[:, :2].T, expected)
    text = run("predict", model, new, "--out", tmp_path / "out.csv", "--features", "a,b", code=1).output
    assert "knows its columns; leave --features out" in text


def test_a_model_from_python_without_names(tmp_path: Path, new: Path) -> None:
    table = make_table()
    model = tmp_path / "model.gpc"
    CommitteeRegressor(expert_size=80, optimizer=None).fit(values(table, "a", "b"), values(table, "y")[:, 0]).save(
        model
    )
    out = tmp_path / "out.csv"
    assert "Name its 2 columns in the order" in run("predict", model, new, "--out", out, code=1).output
    assert (
        "has 2 inputs, but 1 name for them: a."
        in run("predict", model, new, "-o", out, "--features", "a", code=1).output
    )
    expected = CommitteeRegressor.load(model).predict(values(read(new), "a", "b"), return_std=True)
    np.testing.assert_array_equal(predict(model, new, "out.parquet", "--features", "a,b")[:, :2].T, expected)


def parts_of(lengths: list[int]) -> list[TableRows]:
    ends = np.cumsum([0, *lengths])
    rows = [np.arange(first, stop) for first, stop in pairwise(ends)]
    return [TableRows(X=part[:, None].astype(float), y=None, rows=part, n_dropped=0) for part in rows]


@pytest.mark.parametrize("lengths", [[], [0], [3], [4, 4], [1, 2, 9, 0, 1], [13]])
def test_batches_do_not_depend_on_the_blocks_of_a_file(lengths: list[int]) -> None:
    batches = list(full_batches(parts_of(lengths), 4))
    assert all(len(rows) == 4 for rows, _ in batches[:-1])
    assert all(0 < len(rows) <= 4 for rows, _ in batches)
    assert [int(row) for rows, _ in batches for row in rows] == list(range(sum(lengths)))
    assert all((X[:, 0] == rows).all() for rows, X in batches)


def test_predictions_are_put_in_their_rows() -> None:
    column = np.array([1.0, 2.0])
    batch = dict.fromkeys(OUTPUT, column)
    placed = list(in_every_row([(np.array([1, 3]), batch), (np.array([4, 6]), batch)], 9))
    np.testing.assert_array_equal(
        np.concatenate([part["std"] for part in placed]), [np.nan, 1, np.nan, 2, 1, np.nan, 2, np.nan, np.nan]
    )


@pytest.fixture(scope="module")
def conformal_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conformal")
    train = write(make_table(), folder / "train.parquet")
    run("fit", train, "--target", "y", "--out", folder / "m.gpc", *FIT, "--conformal-rows", "40", "--quiet")
    return folder / "m.gpc"


@pytest.mark.parametrize("rule", ["neighbourhood", "grbcm", "barycenter"])
def test_conformal_intervals_are_those_of_the_library(conformal_model: Path, new: Path, rule: str) -> None:
    regressor, inputs = CommitteeRegressor.load(conformal_model), read(new).select(["a", "b"])
    found = predict(conformal_model, new, "out.parquet", "--level", "0.9", "--aggregation", rule)
    mean, std = regressor.predict(inputs, return_std=True, aggregation=rule)
    np.testing.assert_array_equal(found[:, :2].T, [mean, std])
    np.testing.assert_allclose(found[:, 2:].T, regressor.predict_interval(inputs, 0.9, rule), rtol=1e-12)
    assert np.abs((found[:, 3] - mean) / std - 1.6448536269514722).min() > 1e-3


def test_the_interval_of_the_function_stays_gaussian(conformal_model: Path, new: Path) -> None:
    mean, std, _, upper = predict(conformal_model, new, "out.parquet", "--latent").T
    np.testing.assert_allclose(upper - mean, 1.959963984540054 * std, rtol=1e-10)


def test_conformal_intervals_that_cannot_be(conformal_model: Path, new: Path) -> None:
    out = new.parent / "o.csv"
    for options, message in (
        (("--level", "0.99"), "needs at least 99 calibration rows, but there are 40, which allow levels up to 40/41. "
         "Fit with more --conformal-rows, or ask for a lower level."),
        (("--aggregation", "npae"), "or fit with the other one as --aggregation."),
    ):  # fmt: skip
        assert message in run("predict", conformal_model, new, "--out", out, *options, code=1).stderr
    assert not out.exists()
