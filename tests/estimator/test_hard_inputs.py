"""Inputs that must behave: tiny, degenerate, badly scaled, and wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from gpytorch.kernels import LinearKernel

from gpcommittee import CommitteeRegressor, GPCommitteeError, GPCommitteeWarning
from gpcommittee.aggregation import RULES
from gpcommittee.errors import (
    BoundWarning,
    ConvergenceWarning,
    InvalidInputError,
    InvalidParameterError,
    InvalidTypeError,
    PrecisionWarning,
)
from gpcommittee.kernels import KERNELS
from gpcommittee.records import FloatArray

Arrays = tuple[FloatArray, FloatArray]


def data(n: int = 90, d: int = 2, seed: int = 0) -> Arrays:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, d))
    return X, np.sin(3 * X).sum(axis=1) + 0.1 * generator.standard_normal(n)


SUITING = {"tree": "neighbourhood", "kmeans": "neighbourhood", "random": "grbcm"}
"""A rule that predicts from each partition, the default where it can."""


def regressor(**settings: Any) -> CommitteeRegressor:
    return CommitteeRegressor(
        **{
            "kernel": "squared_exponential",
            "expert_size": 30,
            "max_evaluations": 15,
            "random_state": 0,
            "n_jobs": 1,
            **settings,
        }
    )


def quiet_fit(model: CommitteeRegressor, X: Any, y: Any) -> CommitteeRegressor:
    """Fit without this package's warnings, which some of these inputs deserve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        return model.fit(X, y)


def predict(model: CommitteeRegressor, X: Any, **options: Any) -> tuple[FloatArray, FloatArray]:
    mean, std = model.predict(X, return_std=True, **options)
    return mean, std


def assert_sound(model: CommitteeRegressor, X: FloatArray) -> None:
    for rule in RULES if model.partition != "random" else set(RULES) - {"neighbourhood"}:
        mean, std = predict(model, X, aggregation=rule)
        assert np.isfinite(mean).all(), rule
        assert np.isfinite(std).all(), rule
        assert (std >= 0).all(), rule


@pytest.mark.parametrize("partition", ["tree", "kmeans", "random"])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 61, 90])
def test_any_number_of_rows(n: int, partition: str) -> None:
    X, y = data(n)
    model = quiet_fit(regressor(partition=partition, aggregation=SUITING[partition]), X, y)
    assert model.partition_.sizes.sum() == n
    assert_sound(model, X[:5])


def test_one_row_is_remembered() -> None:
    model = quiet_fit(regressor(), [[1.0, 2.0]], [5.0])
    assert predict(model, [[1.0, 2.0]])[0] == pytest.approx([5.0])


def test_more_experts_than_rows_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="n_experts=4 exceeds the 3 rows"):
        regressor(expert_size=None, n_experts=4).fit(*data(3))


def test_rows_that_do_not_divide_are_all_used_once() -> None:
    model = quiet_fit(regressor(expert_size=None, n_experts=7), *data(90))
    assert sorted(model.partition_.order) == list(range(90))
    assert model.partition_.sizes.max() - model.partition_.sizes.min() <= 1


@pytest.mark.parametrize("value", [0.0, 3.5, 1e12, -1e-12])
def test_constant_target_is_predicted_with_certainty(value: float) -> None:
    X, _ = data(60)
    model = quiet_fit(regressor(), X, np.full(60, value))
    mean, std = predict(model, X[:4])
    np.testing.assert_allclose(mean, value, rtol=1e-12, atol=1e-12)
    assert np.isfinite(std).all()


def test_constant_column_changes_nothing() -> None:
    X, y = data()
    plain = quiet_fit(regressor(kernel="matern52"), X, y)
    padded = quiet_fit(regressor(kernel="matern52"), np.column_stack([X, np.full(90, 7.0)]), y)
    mean, std = predict(padded, np.column_stack([X[:9], np.full(9, 7.0)]))
    np.testing.assert_allclose(mean, predict(plain, X[:9])[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(std, predict(plain, X[:9])[1], rtol=1e-2)


def test_identical_rows_survive() -> None:
    X = np.ones((70, 2))
    y = np.linspace(0, 1, 70)
    model = quiet_fit(regressor(), X, y)
    assert_sound(model, X[:2])
    assert predict(model, X[:1])[0] == pytest.approx([0.5], abs=0.1)


def test_repeated_inputs_with_different_targets_are_averaged() -> None:
    X, _ = data(30)
    X, y = np.repeat(X, 3, axis=0), np.tile([-1.0, 0.0, 1.0], 30) + np.repeat(X[:, 0], 3)
    model = quiet_fit(regressor(max_evaluations=60), X, y)
    np.testing.assert_allclose(predict(model, X)[0], X[:, 0], atol=0.35)
    assert predict(model, X)[1].mean() > 0.5


@pytest.mark.parametrize(("scale", "offset"), [(1e9, 0.0), (1e-9, 0.0), (1.0, 1e8), (1e9, 1e8)])
def test_scaled_and_shifted_features_change_nothing(scale: float, offset: float) -> None:
    X, y = data()
    plain = quiet_fit(regressor(), X, y)
    shifted = quiet_fit(regressor(), scale * X + offset, y)
    rtol = 1e-6 if offset == 0 or scale > 1 else 1e-3
    for a, b in zip(predict(plain, X[:20]), predict(shifted, scale * X[:20] + offset), strict=True):
        np.testing.assert_allclose(b, a, rtol=rtol, atol=1e-5)


def test_features_of_very_different_scales() -> None:
    X, y = data()
    scale, offset = np.array([1e9, 1e-9]), np.array([1e8, 0.0])
    plain, scaled = quiet_fit(regressor(), X, y), quiet_fit(regressor(), scale * X + offset, y)
    np.testing.assert_allclose(predict(scaled, scale * X[:20] + offset)[0], predict(plain, X[:20])[0], rtol=1e-5)


@pytest.mark.parametrize(("scale", "offset"), [(1e12, 0.0), (1e-12, 0.0), (1.0, 1e9), (-3.0, 2.0)])
def test_scaled_and_shifted_target_scales_and_shifts_the_prediction(scale: float, offset: float) -> None:
    X, y = data()
    plain = quiet_fit(regressor(), X, y)
    shifted = quiet_fit(regressor(), X, scale * y + offset)
    for rule in RULES:
        mean, std = predict(plain, X[:20], aggregation=rule)
        shifted_mean, shifted_std = predict(shifted, X[:20], aggregation=rule)
        np.testing.assert_allclose((shifted_mean - offset) / scale, mean, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(shifted_std / abs(scale), std, rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_refused_with_column_and_count(value: float) -> None:
    X, y = data()
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[[3, 8], 1] = value
    bad_y[5] = value
    with pytest.raises(InvalidInputError, match=r"X.*column 1.*2"):
        regressor().fit(bad_X, y)
    with pytest.raises(InvalidInputError, match=r"column 'depth'.*2"):
        regressor().fit(pd.DataFrame(bad_X, columns=["width", "depth"]), y)
    with pytest.raises(InvalidInputError, match=r"y.*1"):
        regressor().fit(X, bad_y)
    with pytest.raises(InvalidInputError, match=r"X.*column 1.*2"):
        quiet_fit(regressor(), X, y).predict(bad_X)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_no_test_rows(rule: str) -> None:
    mean, std = predict(quiet_fit(regressor(), *data()), np.empty((0, 2)), aggregation=rule)
    assert mean.shape == std.shape == (0,)


@pytest.mark.parametrize("partition", ["tree", "random"])
def test_types_and_layouts_of_the_data_make_no_difference_to_a_bit(tmp_path: Path, partition: str) -> None:
    generator = np.random.default_rng(0)
    X = generator.integers(-50, 50, size=(400, 3)).astype(float)
    y = np.sin(X[:, 0] / 20) + X[:, 1] / 50 + 0.1 * generator.standard_normal(400)
    np.save(tmp_path / "X.npy", X)
    wide = np.repeat(X, 2, axis=1)
    given: list[Any] = [
        X,
        np.asfortranarray(X),
        wide[:, ::2],
        X.astype(np.int8),
        X.astype(np.float32),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        pd.DataFrame(X),
        X.tolist(),
    ]
    settings = {"partition": partition, "aggregation": SUITING[partition], "max_evaluations": 3}
    models = [quiet_fit(regressor(**settings), rows, y) for rows in given]
    for rows, model in zip(given, models, strict=True):
        assert torch.equal(model.committee_.X, models[0].committee_.X)
        np.testing.assert_array_equal(model.partition_.order, models[0].partition_.order)
        np.testing.assert_array_equal(model.predict(rows, return_std=True), models[0].predict(X, return_std=True))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_columns_are_checked_by_name(frame: Any) -> None:
    X, y = data()
    table = pd.DataFrame(X, columns=["width", "depth"])

    def convert(part: pd.DataFrame) -> Any:
        return part if frame is pd.DataFrame else frame(part)

    model = quiet_fit(regressor(), convert(table), y)
    assert list(model.feature_names_in_) == ["width", "depth"]
    np.testing.assert_array_equal(
        predict(model, convert(table[:5]))[0], predict(quiet_fit(regressor(), X, y), X[:5])[0]
    )
    with pytest.raises(InvalidInputError, match="order"):
        model.predict(convert(table[["depth", "width"]]))
    with pytest.raises(InvalidInputError, match="depth"):
        model.predict(convert(table[["width"]]))
    with pytest.raises(InvalidInputError, match="height"):
        model.predict(convert(table.assign(height=1.0)))


def test_a_path_is_refused_with_what_reads_files() -> None:
    model = regressor().fit(*data())
    with pytest.raises(InvalidTypeError, match=r"got the path 'points.parquet'.* predict_partitions"):
        model.predict("points.parquet")
    with pytest.raises(InvalidTypeError, match=r"got the path 'rows'.* engine=client"):
        regressor().fit("rows", "y")
    with pytest.raises(InvalidTypeError, match=r"got the name 'y'"):
        regressor().fit(data()[0], "y")


def test_wrong_number_of_columns_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="features"):
        quiet_fit(regressor(), *data()).predict(np.zeros((3, 5)))


@pytest.mark.parametrize(
    "X", [np.array([["a", "b"]] * 90), np.full((90, 2), 1j), np.zeros(90), np.zeros((90, 2, 2)), [[object()] * 2] * 90]
)
def test_what_is_not_a_matrix_of_real_numbers_is_refused(X: Any) -> None:
    _, y = data()
    with pytest.raises(GPCommitteeError):
        regressor().fit(X, y)
    with pytest.raises(GPCommitteeError):
        quiet_fit(regressor(), *data()).predict(X)


@pytest.mark.parametrize("y", [["a"] * 90, np.full(90, 1j), np.zeros(89), np.zeros((90, 2)), None])
def test_targets_that_are_not_one_real_number_per_row_are_refused(y: Any) -> None:
    with pytest.raises(GPCommitteeError):
        regressor().fit(data()[0], y)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_other_numeric_types_are_computed_in_double_precision(dtype: Any) -> None:
    X, y = data()
    X = (3 * X).astype(dtype)
    typed, double = quiet_fit(regressor(), X, y), quiet_fit(regressor(), X.astype(np.float64), y)
    assert predict(typed, X)[0].dtype == np.float64
    np.testing.assert_array_equal(predict(typed, X)[0], predict(double, X.astype(np.float64))[0])


def test_a_column_vector_target_is_flattened() -> None:
    X, y = data()
    with pytest.warns(Warning, match="column-vector"):
        model = quiet_fit(regressor(), X, y[:, None])
    np.testing.assert_array_equal(model.predict(X), quiet_fit(regressor(), X, y).predict(X))


@pytest.mark.parametrize("rule", ["bcm", "rbcm", "grbcm", "communication"])
def test_far_outside_the_data_the_training_mean_and_the_prior_remain(rule: str) -> None:
    X, y = data()
    model = quiet_fit(regressor(), X, y)
    mean, std = predict(model, np.full((1, 2), 1e6), aggregation=rule)
    prior = float(model.hyperparameters_["outputscale"]) + model.noise_variance_
    assert mean == pytest.approx([y.mean()])
    assert std == pytest.approx([np.sqrt(prior) * y.std(ddof=1)])


def test_inputs_are_not_changed() -> None:
    X, y = data()
    X_before, y_before = X.copy(), y.copy()
    quiet_fit(regressor(), X, y).predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_a_parameter_on_its_bound_is_named() -> None:
    X, _ = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CommitteeRegressor(expert_size=30, max_evaluations=300, random_state=0).fit(X, X.sum(axis=1) ** 2)
    messages = [str(warning.message) for warning in caught if warning.category is BoundWarning]
    assert any("noise_variance ended on its lower bound: the target looks noise-free" in text for text in messages)


def test_an_unfinished_fit_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"limit of 2 evaluations.*max_evaluations"):
        regressor(max_evaluations=2).fit(*data())


@pytest.mark.parametrize("rule", ["grbcm", "communication"])
@pytest.mark.parametrize("n_experts", [1, 3])
@pytest.mark.parametrize("far", [1e7, 1e20, 1e160])
def test_a_row_is_predicted_alike_in_any_company(far: float, n_experts: int, rule: str) -> None:
    X, y = data()
    model = quiet_fit(regressor(expert_size=None, n_experts=n_experts), X, y)
    alone = model.predict(X[:1], aggregation=rule)
    together = model.predict(np.vstack([X[:1], [[far, 0.0]]]), aggregation=rule)
    np.testing.assert_allclose(together[0], alone[0], rtol=1e-10)
    assert np.isfinite(together).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("far", [1e30, 1e45, 1e150])
def test_points_at_any_distance_get_the_prior(far: float, dtype: str) -> None:
    X, y = data()
    model = quiet_fit(regressor(dtype=dtype, optimizer=None), X, y)
    for rule in ("bcm", "rbcm", "grbcm"):
        assert predict(model, [[far, -far]], aggregation=rule)[0] == pytest.approx([y.mean()], rel=1e-5)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_kernel_without_variance_at_a_point_is_certain_there(rule: str) -> None:
    X = np.linspace(-1, 1, 41)[:, None]
    model = quiet_fit(regressor(kernel=LinearKernel(), optimizer=None, expert_size=11), X, 2 * X[:, 0])
    mean, std = predict(model, [[0.0]], aggregation=rule, include_noise=False)
    assert mean == pytest.approx([0.0], abs=1e-7)
    assert std == pytest.approx([0.0], abs=1e-6)


def test_masked_values_are_refused() -> None:
    X, y = data()
    masked = np.ma.masked_greater(X, 0.5)
    with pytest.raises(InvalidInputError, match=r"X is a masked array with \d+ values masked"):
        regressor().fit(masked, y)
    with pytest.raises(InvalidInputError, match="y is a masked array"):
        regressor().fit(X, np.ma.masked_greater(y, 0.5))
    with pytest.raises(InvalidInputError, match="X is a masked array"):
        quiet_fit(regressor(), X, y).predict(masked)


@pytest.mark.parametrize(
    "X",
    [
        np.arange("2020-01-01", "2020-03-31", dtype="M8[D]")[:, None],
        np.array([["1.5", "2"]] * 90),
        np.array([["1.5", 2]] * 90, dtype=object),
        pd.DataFrame({"when": pd.date_range("2020-01-01", periods=90)}),
        pd.DataFrame({"text": ["1.5"] * 90}),
        [[10**400, 1]] * 90,
    ],
    ids=["dates", "text", "objects", "frame of dates", "frame of text", "huge integer"],
)
def test_dates_text_and_numbers_too_large_are_refused(X: Any) -> None:
    with pytest.raises(GPCommitteeError):
        regressor().fit(X, data()[1])


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_columns_of_dates_and_text_are_named(frame: Any) -> None:
    X, y = data()
    table = pd.DataFrame(
        {"a": X[:, 0], "when": pd.date_range("2020-01-01", periods=90), "t": ["1"] * 90, "b": X[:, 1] > 0}
    )
    with pytest.raises(InvalidInputError, match=r"hold dates or text: 'when' \(timestamp.*, 't' \(.*string.*\)\."):
        regressor().fit(table if frame is pd.DataFrame else frame(table), y)


@pytest.mark.parametrize("y", [[[1.0], [1.0, 2.0]] * 45, [10**400] * 90, ["1.5"] * 90])
def test_targets_that_numpy_cannot_take_are_refused(y: Any) -> None:
    with pytest.raises(GPCommitteeError):
        regressor().fit(data()[0], y)


def test_a_failed_fit_leaves_the_estimator_as_it_was() -> None:
    X, y = data()
    model = quiet_fit(regressor(), X, y)
    before = predict(model, X[:5])[0]
    with pytest.raises(GPCommitteeError):
        model.set_params(n_experts=2).fit(np.hstack([X, X]), y)
    np.testing.assert_array_equal(predict(model, X[:5])[0], before)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("rule", sorted(RULES))
def test_noise_free_targets_in_float32_are_predicted(rule: str) -> None:
    X, _ = data(120)
    model = quiet_fit(regressor(dtype="float32", max_evaluations=60), X, X.sum(axis=1))
    mean = predict_quietly(model, X, rule)
    np.testing.assert_allclose(mean, X.sum(axis=1), atol=0.05)


def predict_quietly(model: CommitteeRegressor, X: FloatArray, rule: str) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        return predict(model, X, aggregation=rule)[0]


def test_complex_targets_are_refused_in_one_line() -> None:
    X, y = data()
    with pytest.raises(InvalidInputError, match="Complex data not supported") as raised:
        regressor().fit(X, y + 1j)
    assert len(str(raised.value)) < 200


def test_float32_is_close_to_float64() -> None:
    X, y = data()
    single = quiet_fit(regressor(dtype="float32", optimizer=None), X, y)
    double = quiet_fit(regressor(optimizer=None), X, y)
    for a, b in zip(predict(single, X), predict(double, X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rule", ["grbcm", "rbcm", "npae"])
@pytest.mark.parametrize("noise_variance", [1e-6, 8e-5])
def test_experts_that_float32_cannot_factor_are_computed_in_float64(noise_variance: float, rule: str) -> None:
    X, _ = data(120)
    y = np.sin(X).sum(axis=1)
    settings = {"optimizer": None, "noise_variance": noise_variance, "n_jobs": 2}
    single, double = (quiet_fit(regressor(dtype=dtype, **settings), X, y) for dtype in ("float32", "float64"))
    with pytest.warns(PrecisionWarning, match=r"of [1-4] of 4 experts .* float32.* float64"):
        mean, std = single.predict(X, return_std=True, aggregation=rule)
    expected = double.predict(X, return_std=True, aggregation=rule)
    np.testing.assert_allclose(mean, expected[0], atol=2e-3 * y.std())
    np.testing.assert_allclose(std, expected[1], rtol=0.01)


def test_a_float32_model_predicts_the_same_from_its_file(tmp_path: Path) -> None:
    X, _ = data(120)
    model = quiet_fit(regressor(dtype="float32"), X, np.sin(X).sum(axis=1))
    model.save(tmp_path / "model.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "model.gpc")
    for rule in ("grbcm", "npae"):
        np.testing.assert_array_equal(predict_quietly(loaded, X, rule), predict_quietly(model, X, rule))


@pytest.mark.parametrize("noise_variance", [1e-6, 1e-4])
def test_the_covariance_in_float32_has_the_variances_of_npae(noise_variance: float) -> None:
    X, y = data(120)
    model = quiet_fit(regressor(dtype="float32", optimizer=None, noise_variance=noise_variance), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        _, covariance = model.predict_covariance(X[:20])
        _, std = model.predict(X[:20], return_std=True, aggregation="npae")
    np.testing.assert_allclose(np.diag(covariance), std**2, rtol=0.02)


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")
@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
def test_the_one_input_that_matters_is_found_among_many(kernel: str) -> None:
    """With lengthscales of 1 all rows are strangers in 40 dimensions, and nothing is learned."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((400, 40))
    y = np.sin(X[:, 0]) + 0.1 * generator.standard_normal(400)
    model = regressor(kernel=kernel, expert_size=150, max_evaluations=40).fit(X[:300], y[:300])
    assert np.mean((model.predict(X[300:]) - np.sin(X[300:, 0])) ** 2) < 0.1 * np.var(y)
