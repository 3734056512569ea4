"""``calibration="held_out"``: variances are scaled so that errors at held-out rows are as large as stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor
from gpcommittee._held_out import SCALE_PRIOR_ROWS
from gpcommittee.aggregation import GRBCM, NPAE, RBCM, RULES, Neighbourhood
from gpcommittee.experts.held_out import held_out_rows, without
from gpcommittee.records import FloatArray


def data(n_rows: int = 400, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2, 2, (n_rows, 2))
    return X, 5 + 3 * np.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * generator.standard_normal(n_rows)


def fitted(**settings: Any) -> CommitteeRegressor:
    standard = {"expert_size": 50, "optimizer": None, "random_state": 0, "n_jobs": 1}
    return CommitteeRegressor(**{**standard, **settings}).fit(*data())


def variance(model: CommitteeRegressor, rule: Any = None, **kind: bool) -> FloatArray:
    return np.asarray(model.predict(data(30, seed=1)[0], return_std=True, aggregation=rule, **kind)[1]) ** 2


@pytest.fixture(scope="module")
def model() -> CommitteeRegressor:
    return fitted()


@pytest.mark.parametrize("rule", ["grbcm", "rbcm", "barycenter", NPAE(), GRBCM(level="observation")])
def test_a_scale_is_the_mean_squared_error_of_a_committee_that_never_saw_the_rows(
    model: CommitteeRegressor, rule: Any
) -> None:
    ratio = variance(model, rule) / variance(fitted(calibration="loo"), rule)
    committee, held = model.committee_, held_out_rows(model.committee_.offsets)
    rest = without(committee, held)
    blind = CommitteeRegressor(
        partition=np.repeat(np.arange(rest.n_experts), np.diff(rest.offsets)),
        optimizer=None,
        kernel=committee.kernel.with_parameters(committee.hyperparameters.kernel),
        calibration="loo",
    )
    # Standardised again, the remaining rows would see other lengthscales; the committee itself is replaced.
    blind.fit(committee.X.numpy()[rest.kept], committee.y.numpy()[rest.kept])
    blind._set_fitted(rest, blind.partition_, _identity(blind), None, "grbcm")
    mean, std = blind.predict(committee.X[held].numpy(), return_std=True, aggregation=rule)
    squares = ((committee.y[held].numpy() - mean) / std) ** 2
    expected = (squares.sum() + SCALE_PRIOR_ROWS) / (len(held) + SCALE_PRIOR_ROWS)
    np.testing.assert_allclose(ratio, expected, rtol=1e-9)


def _identity(model: CommitteeRegressor) -> Any:
    scaling = model.scaling_
    return type(scaling)(np.zeros_like(scaling.x_mean), np.ones_like(scaling.x_scale), 0.0, 1.0)


def test_the_function_value_and_the_covariance_have_the_same_scale(model: CommitteeRegressor) -> None:
    plain = fitted(calibration="loo")
    ratio = variance(model) / variance(plain)
    np.testing.assert_allclose(variance(model, include_noise=False) / variance(plain, include_noise=False), ratio)
    X = data(5, seed=2)[0]
    covariances = [one.predict_covariance(X)[1] for one in (model, plain)]
    np.testing.assert_allclose(covariances[0], model.variance_scales_[NPAE()] * covariances[1], rtol=1e-12)


def test_the_fit_measures_its_own_rule_and_others_are_measured_when_they_are_asked_for() -> None:
    own = RBCM(level="observation")
    model = fitted(aggregation=own)
    assert set(model.variance_scales_) == {own}
    variance(model, "npae")
    assert set(model.variance_scales_) == {own, NPAE()}
    compared = fitted(aggregation="auto")
    summed = {rule for rule in RULES.values() if not isinstance(rule, NPAE | Neighbourhood)}
    assert set(compared.variance_scales_) == summed | {RULES[str(compared.aggregation_)]}


def test_scales_are_saved(model: CommitteeRegressor, tmp_path: Path) -> None:
    model.save(tmp_path / "m.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    assert loaded.variance_scales_ == model.variance_scales_
    np.testing.assert_array_equal(variance(loaded), variance(model))


def test_a_model_without_scales_measures_them(model: CommitteeRegressor) -> None:
    late = fitted(calibration="loo").set_params(calibration="held_out")
    np.testing.assert_allclose(variance(late), variance(model), rtol=1e-12)


@pytest.mark.parametrize("settings", [{"n_experts": 1, "expert_size": None}, {"communication_size": 5}])
def test_one_expert_or_few_rows_leave_variances_as_they_are(settings: dict[str, Any]) -> None:
    X, y = data(90)
    both = [
        CommitteeRegressor(
            **{"expert_size": 20, **settings},
            aggregation="grbcm",
            optimizer=None,
            random_state=0,
            calibration=calibration,
        ).fit(X, y)
        for calibration in ("held_out", "loo")
    ]
    np.testing.assert_array_equal(variance(both[0]), variance(both[1]))


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.BoundWarning")
def test_rows_on_a_grid_without_noise_have_honest_intervals() -> None:
    """Each expert knows its own rows from all sides, and new ones from the side of its own: errors are larger."""
    axis = np.linspace(-3, 3, 50)
    X = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * np.sin(5 * X[:, 0] + 3 * X[:, 1])
    new = np.random.default_rng(0).permutation(len(X))[:400]
    old = np.setdiff1d(np.arange(len(X)), new)
    model = CommitteeRegressor("matern32", expert_size=100, random_state=0, n_jobs=1).fit(X[old], y[old])
    z2 = {}
    for calibration in ("held_out", "loo"):
        mean, std = model.set_params(calibration=calibration).predict(X[new], return_std=True)
        z2[calibration] = float(np.mean(((y[new] - mean) / std) ** 2))
    assert 0.7 < z2["held_out"] < 1.4
    assert abs(np.log(z2["held_out"])) < abs(np.log(z2["loo"]))
