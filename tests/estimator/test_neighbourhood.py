"""``aggregation="neighbourhood"``, the default: what the estimator promises of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.errors import InvalidParameterError
from gpcommittee.prediction.neighbourhood import find_leaves
from gpcommittee.records import FloatArray

SMALL = Neighbourhood(n_rows=80, leaf_size=20)
SETTINGS: dict[str, Any] = {
    "kernel": "matern32",
    "aggregation": SMALL,
    "expert_size": 60,
    "max_evaluations": 15,
    "random_state": 0,
    "n_jobs": 1,
}


def data(n_rows: int = 300, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2, 2, (n_rows, 2))
    return X, 5 + 3 * np.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * generator.standard_normal(n_rows)


X, Y = data()
NEW = data(40, seed=1)[0]


def fitted(**settings: Any) -> CommitteeRegressor:
    with np.errstate(all="raise"):
        return CommitteeRegressor(**{**SETTINGS, "optimizer": None, **settings}).fit(X, Y)


def said(model: CommitteeRegressor, points: FloatArray = NEW, **settings: Any) -> FloatArray:
    mean, std = model.predict(points, return_std=True, **settings)
    return np.stack([mean, std])


@pytest.fixture(scope="module")
def model() -> CommitteeRegressor:
    return fitted()


def test_it_is_the_default() -> None:
    assert CommitteeRegressor().aggregation == "neighbourhood"
    default = CommitteeRegressor("matern32", optimizer=None, expert_size=60, random_state=0, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(said(default), said(default, aggregation=Neighbourhood()))
    assert set(default.variance_scales_) == {Neighbourhood()}


@pytest.mark.parametrize("aggregation", ["neighbourhood", SMALL])
def test_a_random_partition_is_refused_with_advice(aggregation: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"random partition .* partition='tree', or .* aggregation='grbcm'"):
        fitted(partition="random", aggregation=aggregation)
    other = fitted(partition="random", aggregation="grbcm")
    with pytest.raises(InvalidParameterError, match="aggregation='grbcm'"):
        other.predict(NEW, aggregation=aggregation)
    with pytest.raises(InvalidParameterError, match="aggregation='grbcm'"):
        other.predict_rules(NEW, ["grbcm", aggregation])


@pytest.mark.parametrize("own", ["shared", "own"])
def test_a_saved_model_says_the_same_bits(own: str, tmp_path: Path) -> None:
    before = fitted(expert_variances=own)
    expected = said(before)
    before.save(tmp_path / "m.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    assert loaded.aggregation_ == SMALL
    assert loaded.variance_scales_ == before.variance_scales_
    np.testing.assert_array_equal(said(loaded), expected)


@pytest.mark.parametrize(("a", "b"), [(4.0, -100.0), (-0.5, 3.0)])
def test_a_target_in_other_units_gives_the_same_in_these(model: CommitteeRegressor, a: float, b: float) -> None:
    other = CommitteeRegressor(**{**SETTINGS, "optimizer": None}).fit(X, a * Y + b)
    mean, std = said(model)
    np.testing.assert_allclose(said(other), [a * mean + b, abs(a) * std], rtol=1e-8)


@pytest.mark.parametrize("c", [2.0**10, 1e-3])
def test_inputs_in_other_units_give_the_same(model: CommitteeRegressor, c: float) -> None:
    other = CommitteeRegressor(**{**SETTINGS, "optimizer": None}).fit(c * X, Y)
    np.testing.assert_allclose(said(other, c * NEW), said(model), rtol=1e-7)


def test_leaves_never_mix_the_users_labels() -> None:
    labels = np.where(X[:, 0] < -1, 1, np.where(X[:, 1] > 0, 2, 3))
    labels[np.random.default_rng(0).permutation(len(X))[:40]] = 0
    model = fitted(partition=labels, expert_size=None)
    committee = model.committee_
    leaves = find_leaves(committee, SMALL.sizes(len(X), committee.n_experts, 2))
    for leaf in range(leaves.n_leaves):
        assert len(set(labels[model.partition_.order[leaves.own(leaf)]])) == 1
    held = np.concatenate([leaves.own(leaf) for leaf in range(leaves.n_leaves)])
    np.testing.assert_array_equal(np.sort(held), np.arange(40, 300))
    mean, std = said(model)
    target = 5 + 3 * np.sin(3 * NEW[:, 0]) * NEW[:, 1]
    assert np.mean((mean - target) ** 2) < 0.1 * Y.var()
    assert (std > 0).all()


def test_the_scale_of_the_fit_multiplies_both_variances(model: CommitteeRegressor) -> None:
    plain = fitted(calibration="loo")
    scale = model.variance_scales_[SMALL]
    assert abs(scale - 1) > 1e-3
    for include_noise in (False, True):
        (mean, std), (mean_plain, std_plain) = (said(one, include_noise=include_noise) for one in (model, plain))
        np.testing.assert_array_equal(mean, mean_plain)
        np.testing.assert_allclose(std**2, scale * std_plain**2, rtol=1e-12)


def test_the_scale_is_measured_once_when_it_is_first_needed() -> None:
    model = fitted(aggregation="grbcm")
    assert SMALL not in model.variance_scales_
    model.predict(NEW, aggregation=SMALL)
    assert SMALL not in model.variance_scales_
    first = said(model, aggregation=SMALL)
    assert model.variance_scales_[SMALL] == pytest.approx(fitted().variance_scales_[SMALL], rel=1e-12)
    np.testing.assert_array_equal(said(model, aggregation=SMALL), first)


def test_one_expert_has_a_scale_too() -> None:
    one = fitted(n_experts=1, expert_size=None, aggregation="neighbourhood")
    plain = fitted(n_experts=1, expert_size=None, aggregation="neighbourhood", calibration="loo")
    np.testing.assert_allclose(said(one)[1] ** 2, one.variance_scales_[Neighbourhood()] * said(plain)[1] ** 2)


def test_calibration_is_switched_without_a_refit(model: CommitteeRegressor) -> None:
    expected, before = said(fitted(calibration=None)), said(model)
    other = fitted().set_params(calibration=None)
    np.testing.assert_array_equal(said(other), expected)
    np.testing.assert_array_equal(said(other.set_params(calibration="held_out")), before)


def test_intervals_hold_what_they_say() -> None:
    """Also where noise changes within an expert's rows, which its one noise variance cannot follow."""
    generator = np.random.default_rng(3)
    x = generator.uniform(-2, 2, (1_500, 2))
    deviation = np.where(x[:, 0] > 0, 0.6, 0.1)
    y = np.sin(2 * x).sum(axis=1) + deviation * generator.standard_normal(1_500)
    old = CommitteeRegressor(**{**SETTINGS, "expert_size": 250, "aggregation": Neighbourhood(n_rows=300)})
    mean, std = said(old.set_params(noise_variance=0.15, optimizer=None).fit(x[:1_000], y[:1_000]), x[1_000:])
    errors = ((y[1_000:] - mean) / std) ** 2
    for quiet in (False, True):
        assert 0.7 < errors[(x[1_000:, 0] < 0) == quiet].mean() < 1.4


def test_float32_is_nearly_the_same(model: CommitteeRegressor) -> None:
    np.testing.assert_allclose(said(fitted(dtype="float32")), said(model), rtol=2e-3, atol=2e-3)


def test_wrong_settings_are_refused_before_any_work() -> None:
    with pytest.raises(InvalidParameterError, match="Neighbourhood: blend"):
        fitted(aggregation=Neighbourhood(blend=0))
