"""Predictions of experts with variances of their own: exact limits, and the scales written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from committees import committee_of, identity_scaling, random_blocks, variances
from gpcommittee.aggregation import (
    BCM,
    GRBCM,
    NPAE,
    RBCM,
    Barycenter,
    Communication,
    GPoE,
    MostCertain,
    NormalisedGPoE,
    PoE,
    Reference,
    Rule,
)
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.prediction import FactorStore, Request, npae_covariance, predict_rules, stream
from gpcommittee.progress import SilentReporter
from gpcommittee.records import OwnVariances, Prediction
from naive import Array, NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
BLOCKS = random_blocks([12, 15, 9, 20, 14], 2, seed=1)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (40, 2))
SIGNAL, NOISE = np.array([1.0, 0.5, 2.0, 1.0, 3.0]), np.array([1.0, 4.0, 0.5, 0.2, 9.0])
RULES: list[Rule] = [PoE(), GPoE(), GPoE("observation", "entropy"), BCM(), RBCM("observation"), RBCM(), NPAE()]
RULES += [GRBCM(), GRBCM(lead="first"), GRBCM(lead=None), GRBCM("observation"), Communication()]
RULES += [MostCertain(), NormalisedGPoE(), Barycenter()]


def with_own(signal: Array, noise: Array) -> Committee:
    return replace(committee_of(GP, BLOCKS[: len(signal)]), own=OwnVariances(signal, noise))


def predict(
    committee: Committee,
    rules: list[Rule],
    *,
    calibrated: bool = False,
    budget: float = 1e9,
    engine: Engine | None = None,
) -> list[Prediction]:
    store = FactorStore(committee, budget, calibrated)
    arguments = identity_scaling(2), X_TEST, rules, engine or SerialEngine(), SilentReporter()
    return predict_rules(store, *arguments)


def exact(blocks: list[tuple[Array, Array]], noise: Array, x: Array) -> tuple[float, float]:
    """Mean and latent variance of the exact process with noise variances row by row."""
    X, y = np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    inverse = np.linalg.inv(GP.k(X, X) + np.diag(np.repeat(noise, [len(y) for _, y in blocks])))
    cross = GP.k(X, x[None])[:, 0]
    return float(cross @ inverse @ y), float(GP.signal_variance - cross @ inverse @ cross)


@pytest.mark.parametrize("calibrated", [False, True])
def test_variances_equal_to_the_shared_ones_change_nothing(calibrated: bool) -> None:
    """Calibrated, of rules whose reference has no dispersion: where experts have their own, it would not count."""
    rules = [rule for rule in RULES if not calibrated or rule.reference is not Reference.COMMUNICATION]
    own = predict(with_own(np.ones(5), np.ones(5)), rules, calibrated=calibrated)
    for got, expected in zip(own, predict(committee_of(GP, BLOCKS), rules, calibrated=calibrated), strict=True):
        np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-12)
        for a, b in zip(variances(got), variances(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("rule", [GRBCM(), GRBCM(lead="first"), MostCertain(), NormalisedGPoE()], ids=str)
def test_two_sets_are_the_exact_process_with_the_noise_of_each(rule: Rule) -> None:
    [got] = predict(with_own(np.ones(2), np.array([1.0, 4.0])), [rule])
    expected = [exact(BLOCKS[:2], GP.noise_variance * np.array([1.0, 4.0]), x) for x in X_TEST]
    np.testing.assert_allclose(got.mean, [mean for mean, _ in expected], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variances(got)[0], [variance for _, variance in expected], rtol=1e-9)


def test_scales_of_grbcm_are_averages_by_what_each_expert_adds_in_units_of_its_noise() -> None:
    ratios = NOISE / SIGNAL
    [got] = predict(with_own(SIGNAL, NOISE), [GRBCM()])
    for i, x in enumerate(X_TEST):
        mean_c, var_c = exact(BLOCKS[:1], np.array([GP.noise_variance]), x)
        moments = [
            exact([BLOCKS[0], BLOCKS[e]], GP.noise_variance * np.array([1.0, ratios[e]]), x) for e in range(1, 5)
        ]
        means, own = np.array(moments).T
        weights = 0.5 * np.log(var_c / own)
        weights[own.argmin()] = 1
        added = weights * (1 / own - 1 / var_c)
        tau = 1 / var_c + added.sum()
        shift = mean_c / var_c + (weights * (means / own - mean_c / var_c)).sum()
        counted = ratios[1:] * added
        shares = counted / (1 / GP.signal_variance + counted.sum())
        dispersion, noise = np.exp(shares @ np.log(SIGNAL[1:])), np.exp(shares @ np.log(ratios[1:]))
        latent, noisy = (values[i] for values in variances(got))
        assert got.mean[i] == pytest.approx(shift / tau, rel=1e-9)
        assert latent == pytest.approx(dispersion / tau, rel=1e-9)
        assert noisy == pytest.approx(dispersion * (1 / tau + noise * GP.noise_variance), rel=1e-9)


def test_far_from_the_data_variances_are_the_shared_ones() -> None:
    committee, rules = with_own(SIGNAL, NOISE), [rule for rule in RULES if not isinstance(rule, PoE)]
    far = np.array([[50.0, -50.0]])
    store = FactorStore(committee, 1e9, False)
    for got in predict_rules(store, identity_scaling(2), far, rules, SerialEngine(), SilentReporter()):
        latent, noisy = variances(got)
        if latent < 10:
            np.testing.assert_allclose(latent, GP.signal_variance, rtol=1e-6)
            np.testing.assert_allclose(noisy, GP.signal_variance + GP.noise_variance, rtol=1e-6)


def test_no_variance_of_an_observation_is_negative() -> None:
    for got in predict(with_own(SIGNAL, np.array([1.0, *(1e-6 * NOISE[1:])])), RULES):
        assert (variances(got)[1] > 0).all()


def test_calibration_is_relative_to_the_own_variances() -> None:
    """Errors that the own scale explains already are not counted again, but for the rows counted beside them."""
    committee = with_own(SIGNAL, SIGNAL)
    store, shared = (FactorStore(each, 1e9, True) for each in (committee, replace(committee, own=None)))
    engine = SerialEngine()
    for expert in range(1, 5):
        kinds = frozenset({GRBCM.experts})
        own = store.load(kinds, [expert], engine).augmented[expert].dispersion
        rows = len(BLOCKS[expert][1]) + 10
        squares = rows * shared.load(kinds, [expert], engine).augmented[expert].dispersion - 10
        assert own == pytest.approx((squares + 10 * SIGNAL[expert]) / rows, rel=1e-9)


@pytest.mark.parametrize("include_noise", [False, True])
def test_the_covariance_has_the_variances_on_its_diagonal(include_noise: bool) -> None:
    committee = with_own(SIGNAL, NOISE)
    store, request = FactorStore(committee, 1e9, True), Request(committee, identity_scaling(2), X_TEST)
    mean, covariance = npae_covariance(NPAE(), request, store, SerialEngine(), include_noise=include_noise)
    [expected] = predict(committee, [NPAE()], calibrated=True)
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-8)
    np.testing.assert_allclose(covariance.diagonal(), variances(expected)[int(include_noise)], rtol=1e-8)


@pytest.mark.parametrize("case", ["threads", "chunks", "budget"])
def test_the_numbers_do_not_depend_on_who_computes_them(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    committee = with_own(SIGNAL, NOISE)
    expected = predict(committee, RULES, calibrated=True)
    engine: Engine = ThreadEngine(2) if case == "threads" else SerialEngine()
    if case == "chunks":
        monkeypatch.setattr(stream, "CHUNK", 7)
    budget = 1e6 if case != "budget" else 2e5
    found = predict(committee, RULES, calibrated=True, engine=engine, budget=budget)
    for got, one in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.mean, one.mean, rtol=1e-9, atol=1e-12)
        for a, b in zip(variances(got), variances(one), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


def test_single_precision_is_nearly_the_same() -> None:
    double = with_own(SIGNAL, NOISE)
    single = replace(double, kernel=double.kernel.as_type(torch.float32), X=double.X.float(), y=double.y.float())
    for got, expected in zip(predict(single, [GRBCM(), RBCM()]), predict(double, [GRBCM(), RBCM()]), strict=True):
        np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(variances(got)[1], variances(expected)[1], rtol=1e-3)
