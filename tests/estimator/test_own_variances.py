"""Variances of experts' own, as the estimator offers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.errors import InvalidParameterError
from gpcommittee.metrics import coverage, nlpd, rmse
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.records import FloatArray

KERNEL: dict[str, Any] = {
    "kernel": "squared_exponential",
    "expert_size": 100,
    "communication_size": 200,
    "training_experts": 4,
}


def drawn(noise: float, growth: float, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, target and standard deviation of the noise, which grows with the first input."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(3_000, 2))
    std: FloatArray = noise * growth ** X[:, 0]
    y = np.sin(15 * X[:, 0]) + np.cos(10 * X[:, 1]) + std * generator.standard_normal(len(X))
    return X, y, std


def pair(X: FloatArray, y: FloatArray, **settings: Any) -> list[CommitteeRegressor]:
    """A fit with shared variances and one with own ones, around the same hyperparameters and on the same partition."""
    shared = CommitteeRegressor(random_state=0, n_jobs=1, calibration=None, **KERNEL).fit(X, y)
    return [shared, own_around(shared, **settings).fit(X, y)]


def own_around(shared: CommitteeRegressor, **settings: Any) -> CommitteeRegressor:
    defaults: dict[str, Any] = {
        "noise_variance": shared.noise_variance_,
        "partition": shared.partition_.labels(),
        "optimizer": None,
        "n_jobs": 1,
        "calibration": None,
        "expert_variances": "own",
    }
    return CommitteeRegressor(shared.kernel_, **{**defaults, **settings})


def both(model: CommitteeRegressor, X: FloatArray) -> FloatArray:
    mean, std = model.predict(X, return_std=True)
    return np.stack([mean, std])


NOISY = drawn(0.05, 16.0)
X_TRAIN, Y_TRAIN, X_TEST = NOISY[0][:2_000], NOISY[1][:2_000], NOISY[0][2_000:]
Y_TEST, STD_TEST = NOISY[1][2_000:], NOISY[2][2_000:]


@pytest.fixture(scope="module")
def models() -> list[CommitteeRegressor]:
    return pair(X_TRAIN, Y_TRAIN)


def test_predicted_noise_is_right_region_by_region(models: list[CommitteeRegressor]) -> None:
    (_, shared), (_, own) = (both(model, X_TEST) for model in models)
    for lower in np.linspace(0, 0.8, 5):
        inside = (X_TEST[:, 0] >= lower) & (X_TEST[:, 0] < lower + 0.2)
        truth = np.sqrt((STD_TEST[inside] ** 2).mean())
        assert np.sqrt((own[inside] ** 2).mean()) == pytest.approx(truth, rel=0.25)
    assert shared.max() / shared.min() < 1.5
    assert own.max() / own.min() > 6


def test_noise_that_changes_costs_less(models: list[CommitteeRegressor]) -> None:
    shared, own = (both(model, X_TEST) for model in models)
    assert nlpd(Y_TEST, *own) < nlpd(Y_TEST, *shared) - 0.2
    assert coverage(Y_TEST, *own) == pytest.approx(0.95, abs=0.02)
    assert rmse(Y_TEST, own[0]) < 1.01 * rmse(Y_TEST, shared[0])


def test_noise_that_is_the_same_costs_next_to_nothing() -> None:
    """A hundred rows tell a noise variance to a seventh."""
    X, y, _ = drawn(0.2, 1.0)
    shared, own = (both(model, X[2_000:]) for model in pair(X[:2_000], y[:2_000]))
    assert abs(nlpd(y[2_000:], *own) - nlpd(y[2_000:], *shared)) < 0.015
    np.testing.assert_allclose(own[1], shared[1], rtol=0.3)


def test_a_model_file_keeps_them_and_old_ones_have_none(models: list[CommitteeRegressor], tmp_path: Path) -> None:
    _, own = models
    own.save(tmp_path / "new.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "new.gpc")
    assert loaded.expert_variances == "own"
    np.testing.assert_array_equal(both(loaded, X_TEST[:50]), both(own, X_TEST[:50]))
    arrays, manifest = read_model_file(tmp_path / "new.gpc")
    manifest = {key: manifest[key] for key in manifest.keys() - {"format", "schema_version", "libraries", "digest"}}
    del manifest["settings"]["expert_variances"]
    arrays = {name: values for name, values in arrays.items() if not name.startswith("own_")}
    write_model_file(tmp_path / "old.gpc", arrays, manifest)
    old = CommitteeRegressor.load(tmp_path / "old.gpc")
    assert (old.expert_variances, old.expert_variances_) == ("shared", None)
    np.testing.assert_allclose(both(old, X_TEST[:50]), both(models[0], X_TEST[:50]), rtol=1e-9)


def test_threads_make_no_difference(models: list[CommitteeRegressor]) -> None:
    shared, own = models
    threads = own_around(shared, n_jobs=2).fit(X_TRAIN, Y_TRAIN)
    np.testing.assert_array_equal(both(threads, X_TEST[:50]), both(own, X_TEST[:50]))


def test_single_precision_finds_nearly_the_same(models: list[CommitteeRegressor]) -> None:
    shared, own = models
    single = own_around(shared, dtype="float32").fit(X_TRAIN, Y_TRAIN)
    assert single.expert_variances_ is not None
    assert own.expert_variances_ is not None
    np.testing.assert_allclose(single.expert_variances_.noise, own.expert_variances_.noise, rtol=1e-3)


def test_one_expert_has_none_but_the_shared_ones() -> None:
    model = CommitteeRegressor(n_experts=1, expert_variances="own", optimizer=None).fit(X_TRAIN[:50], Y_TRAIN[:50])
    assert model.expert_variances_ is not None
    np.testing.assert_array_equal([model.expert_variances_.signal, model.expert_variances_.noise], 1.0)


def test_the_rule_may_be_chosen_and_intervals_be_conformal() -> None:
    model = CommitteeRegressor(
        n_experts=6, aggregation="auto", expert_variances="own", optimizer=None, noise_variance=0.02, n_jobs=1
    )
    model = model.fit(X_TRAIN[:600], Y_TRAIN[:600]).conformalize(X_TEST, Y_TEST)
    lower, upper = model.predict_interval(X_TEST, 0.9)
    assert np.mean((lower <= Y_TEST) & (upper >= Y_TEST)) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("value", ["each", None, True])
def test_an_unknown_choice_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="expert_variances must be one of"):
        CommitteeRegressor(expert_variances=value).fit(X_TRAIN[:50], Y_TRAIN[:50])  # type: ignore[arg-type]


def test_the_papers_configuration_shares_them() -> None:
    assert paper_committee(4).expert_variances == "shared"
