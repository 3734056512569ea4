"""``predict_interval``, Gaussian and conformal."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import RULES, PoE
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.records import FloatArray


def data(n_rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Errors with heavy tails, and larger on one side."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n_rows, 2))
    return X, 7 + np.sin(3 * X).sum(axis=1) + 0.1 * (2 + X[:, 0]) * generator.standard_t(3, n_rows)


def regressor(**settings: Any) -> CommitteeRegressor:
    standard = {"expert_size": 30, "optimizer": None, "random_state": 0, "n_jobs": 1}
    return CommitteeRegressor(**{**standard, **settings}).fit(*data(120, seed=0))


@pytest.fixture
def model() -> CommitteeRegressor:
    return regressor()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_gaussian_before_conformalize(model: CommitteeRegressor, level: float) -> None:
    X, _ = data(25, seed=1)
    mean, std = model.predict(X, return_std=True)
    expected = stats.norm.interval(level, mean, std)
    np.testing.assert_allclose(model.predict_interval(X, level), expected, rtol=1e-12)
    assert model.interval_half_width(level) == pytest.approx(stats.norm.ppf(0.5 + level / 2), rel=1e-12)


@pytest.mark.parametrize("rule", [*RULES, "auto", PoE(level="observation")])
@pytest.mark.parametrize("calibration", ["held_out", "loo", None])
def test_conformal_for_every_rule(rule: Any, calibration: str | None) -> None:
    model = regressor(aggregation=rule, calibration=calibration)
    X, y = data(39, seed=1)
    mean, std = model.predict(X, return_std=True)
    fresh, _ = data(5, seed=2)
    before = model.predict(fresh, return_std=True)
    assert model.conformalize(X, y) is model
    half = np.sort(np.abs(y - mean) / std)[38 - 1]
    assert model.interval_half_width(0.95) == pytest.approx(half, rel=1e-12)
    expected = before[0] - half * before[1], before[0] + half * before[1]
    np.testing.assert_allclose(model.predict_interval(fresh), expected, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(fresh, return_std=True), before)


def test_several_rules_in_one_pass(model: CommitteeRegressor) -> None:
    X, y = data(40, seed=1)
    rules = ["grbcm", "poe", "npae"]
    model.conformalize(X, y, rules)
    found = [model.interval_half_width(0.9, rule) for rule in rules]
    alone = [clone(model).fit(*data(120, seed=0)).conformalize(X, y, [rule]) for rule in rules]
    expected = [other.interval_half_width(0.9, rule) for other, rule in zip(alone, rules, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert len(set(found)) == 3
    with pytest.raises(InvalidParameterError, match="but none of 'rbcm'"):
        model.predict_interval(X, aggregation="rbcm")
    with pytest.raises(InvalidParameterError, match="must be a sequence"):
        model.conformalize(X, y, "poe")


@pytest.mark.parametrize(("n_rows", "level"), [(19, 0.9), (9, 0.75), (30, 0.5)])
def test_a_new_observation_is_inside_as_often_as_its_rank_says(n_rows: int, level: float) -> None:
    """Over independent draws of calibration rows and one new row, exactly k / (n + 1) of them, by the binomial law."""
    model, n_draws = regressor(noise_variance=1e-3, calibration=None), 400
    X, y = data(n_draws * (n_rows + 1), seed=3)
    X, y = X.reshape(n_draws, n_rows + 1, 2), y.reshape(n_draws, n_rows + 1)
    inside = 0
    for inputs, target in zip(X, y, strict=True):
        lower, upper = model.conformalize(inputs[1:], target[1:]).predict_interval(inputs[:1], level)
        inside += int(lower[0] <= target[0] <= upper[0])
    exact = np.ceil((n_rows + 1) * level) / (n_rows + 1)
    low, high = stats.binom.interval(1 - 1e-3, n_draws, exact)
    assert exact >= level
    assert low <= inside <= high


def test_coverage_that_the_gaussian_interval_lacks() -> None:
    """Given the calibration rows, coverage of new rows follows a beta law; here it is within its central 99.9%."""
    model = regressor(noise_variance=1e-3, calibration=None)
    X, y = data(4000, seed=4)

    def covered() -> float:
        lower, upper = model.predict_interval(X, 0.9)
        return float(np.mean((lower <= y) & (y <= upper)))

    assert covered() < 0.75
    model.conformalize(*data(499, seed=5))
    low, high = stats.betabinom.interval(0.999, 4000, 450, 50)
    assert low <= 4000 * covered() <= high


def test_another_calibration_is_refused(model: CommitteeRegressor) -> None:
    X, y = data(40, seed=1)
    model.conformalize(X, y)
    with pytest.raises(InvalidParameterError, match="with calibration='held_out', but it is None now"):
        model.set_params(calibration=None).predict_interval(X)
    model.conformalize(X, y).predict_interval(X)


def test_another_fit_takes_the_guarantee_away(model: CommitteeRegressor) -> None:
    model.conformalize(*data(40, seed=1))
    assert model.conformal_ is not None
    assert model.fit(*data(120, seed=0)).conformal_ is None


def test_refusals(model: CommitteeRegressor) -> None:
    X, y = data(18, seed=1)
    with pytest.raises(NotFittedError):
        clone(model).conformalize(X, y)
    with pytest.raises(NotFittedError):
        clone(model).predict_interval(X)
    with pytest.raises(InvalidInputError, match="3 features"):
        model.conformalize(np.ones((18, 3)), y)
    with pytest.raises(InvalidInputError, match="NaN"):
        model.conformalize(X, np.where(y == y[3], np.nan, y))
    with pytest.raises(InvalidInputError, match="inconsistent numbers of samples"):
        model.conformalize(X, y[1:])
    assert model.conformal_ is None
    with pytest.raises(InvalidParameterError, match="needs at least 19 calibration rows, but there are 18"):
        model.conformalize(X, y).predict_interval(X)
    for level in (0.0, 1.0, 95):
        with pytest.raises(InvalidParameterError, match="strictly between 0 and 1"):
            model.predict_interval(X, level)


def test_frames_and_inputs_unchanged() -> None:
    X, y = data(40, seed=1)
    frame = pd.DataFrame(X, columns=["a", "b"])
    train, target = data(120, seed=0)
    settings: dict[str, Any] = {"expert_size": 30, "optimizer": None, "random_state": 0, "n_jobs": 1}
    model = CommitteeRegressor(**settings).fit(pd.DataFrame(train, columns=["a", "b"]), target)
    same_X, same_y = X.copy(), y.copy()
    model.conformalize(frame, y)
    np.testing.assert_array_equal(model.predict_interval(frame), regressor().conformalize(X, y).predict_interval(X))
    np.testing.assert_array_equal(X, same_X)
    np.testing.assert_array_equal(y, same_y)
    with pytest.raises(InvalidInputError, match="feature names"):
        model.conformalize(frame[["b", "a"]], y)


def test_the_guarantee_is_saved(tmp_path: Path) -> None:
    X, y = data(40, seed=1)
    model = regressor(aggregation="auto").conformalize(X, y, ["auto", "poe", PoE(level="observation")])
    model.save(tmp_path / "m.gpc")
    for loaded in (CommitteeRegressor.load(tmp_path / "m.gpc"), pickle.loads(pickle.dumps(model))):
        for rule in (None, "poe", PoE(level="observation")):
            np.testing.assert_array_equal(loaded.predict_interval(X, 0.9, rule), model.predict_interval(X, 0.9, rule))
        assert loaded.conformal_ is not None
        assert loaded.conformal_.n_rows == 40
    plain = regressor()
    plain.save(tmp_path / "plain.gpc")
    assert CommitteeRegressor.load(tmp_path / "plain.gpc").conformal_ is None
