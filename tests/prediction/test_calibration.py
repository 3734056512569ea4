"""Variances calibrated by the experts' leave-one-out errors, against the definition written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from committees import committee_of, identity_scaling, random_blocks, variances
from gpcommittee.aggregation import BCM, GRBCM, NPAE, RBCM, AdditiveRule, Communication, GPoE, PoE, Rule
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.experts.leave_one_out import PRIOR_ROWS
from gpcommittee.prediction import FactorStore, Request, npae_covariance, predict_rules, stream
from gpcommittee.progress import SilentReporter
from gpcommittee.records import Prediction
from naive import Array, NaiveGP, leave_one_out

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (40, 2))
RULES: list[Rule] = [PoE(), GPoE(), GPoE("observation", "entropy"), BCM(), RBCM("observation"), RBCM(), NPAE()]
RULES += [GRBCM(), GRBCM(lead="first"), GRBCM(lead=None), GRBCM("observation"), Communication()]


def noisy_blocks() -> list[tuple[Array, Array]]:
    """Blocks of rows with more noise in each than in the one before."""
    generator = np.random.default_rng(0)
    blocks = random_blocks([12, 15, 9, 20, 14], 2, seed=1)
    return [(X, y + 0.3 * i * generator.standard_normal(len(y))) for i, (X, y) in enumerate(blocks)]


BLOCKS = noisy_blocks()


def predict(
    rules: list[Rule],
    *,
    committee: Committee | None = None,
    calibrated: bool = True,
    budget: float = 1e9,
    engine: Engine | None = None,
    x: Array = X_TEST,
) -> list[Prediction]:
    store = FactorStore(committee or committee_of(GP, BLOCKS), budget, calibrated)
    return predict_rules(store, identity_scaling(2), x, rules, engine or SerialEngine(), SilentReporter())


def ratios(rules: list[Rule], x: Array = X_TEST) -> list[Array]:
    """Calibrated variances over the others, which must be the same for latent and noisy ones."""
    found = []
    for got, plain in zip(predict(rules, x=x), predict(rules, calibrated=False, x=x), strict=True):
        np.testing.assert_array_equal(got.mean, plain.mean)
        latent, noisy = (a / b for a, b in zip(variances(got), variances(plain), strict=True))
        np.testing.assert_allclose(latent, noisy, rtol=1e-12)
        found.append(noisy)
    return found


def dispersions(*, given_communication: bool) -> Array:
    blocks = BLOCKS[1:] if given_communication else BLOCKS
    known = BLOCKS[0] if given_communication else (np.empty((0, 2)), np.empty(0))
    errors = [leave_one_out(GP, X, y, *known) for X, y in blocks]
    return np.array([((z**2).sum() + PRIOR_ROWS) / (len(z) + PRIOR_ROWS) for z in errors])


def expected(rule: AdditiveRule, x: Array) -> float:
    """exp of the mean of log dispersions, weighted by what each adds to the precision; 1 for the prior."""
    level = GP.noise_variance if rule.level == "observation" else 0.0
    augmented = isinstance(rule, GRBCM)
    X_c, y_c = BLOCKS[0]
    if augmented:
        experts = [GP.latent_moments(np.vstack([X_c, X]), np.append(y_c, y), x)[1] for X, y in BLOCKS[1:]]
        reference, of_reference = GP.latent_moments(X_c, y_c, x)[1], dispersions(given_communication=False)[0]
    else:
        experts = [GP.latent_moments(X, y, x)[1] for X, y in BLOCKS]
        reference, of_reference = GP.signal_variance, 1.0
    tau, tau_ref = 1 / (np.array(experts) + level), 1 / (reference + level)
    weight = 0.5 * np.log(tau / tau_ref)
    if isinstance(rule, BCM | PoE) or (isinstance(rule, GPoE) and rule.weights == "uniform"):
        weight = np.ones_like(tau)
    if isinstance(rule, GRBCM) and rule.lead is not None:
        weight[0 if rule.lead == "first" else np.argmax(tau)] = 1.0
    tau_0 = 1 / (GP.signal_variance + level)
    total = weight @ tau if isinstance(rule, PoE | GPoE) else tau_ref + weight @ (tau - tau_ref)
    logs = np.log(dispersions(given_communication=augmented))
    return float(np.exp((weight * (tau - tau_ref) @ logs + (tau_ref - tau_0) * np.log(of_reference)) / total))


@pytest.mark.parametrize("rule", [rule for rule in RULES if not isinstance(rule, NPAE | Communication)], ids=str)
def test_the_factor_is_the_mean_of_the_experts_dispersions(rule: AdditiveRule) -> None:
    [got] = ratios([rule])
    np.testing.assert_allclose(got, [expected(rule, x) for x in X_TEST], rtol=1e-8)


def test_the_communication_expert_alone_has_its_own_as_far_as_it_knows_anything() -> None:
    [got] = ratios([Communication()])
    left = np.array([GP.latent_moments(*BLOCKS[0], x)[1] for x in X_TEST]) / GP.signal_variance
    np.testing.assert_allclose(got, dispersions(given_communication=False)[0] ** (1 - left), rtol=1e-8)


def test_npae_takes_that_of_rbcm() -> None:
    npae, rbcm = ratios([NPAE(), RBCM()])
    np.testing.assert_allclose(npae, rbcm, rtol=1e-9)


def test_far_from_the_data_variances_are_left_alone() -> None:
    for got in ratios(RULES, np.full((1, 2), 1e3)):
        np.testing.assert_allclose(got, 1.0, rtol=1e-12)


def test_engines_budgets_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [variances(one) for one in predict(RULES)]
    np.testing.assert_array_equal([variances(one) for one in predict(RULES, engine=ThreadEngine(3))], whole)
    additive = [rule for rule in RULES if not isinstance(rule, NPAE)]
    expected = [variances(one) for one in predict(additive)]
    np.testing.assert_array_equal([variances(one) for one in predict(additive, budget=3e3)], expected)
    monkeypatch.setattr(stream, "CHUNK", 7)
    np.testing.assert_allclose([variances(one) for one in predict(RULES)], whole, rtol=1e-9)


def test_single_precision_is_near() -> None:
    committee = committee_of(GP, BLOCKS)
    single = replace(committee, kernel=committee.kernel.as_type(torch.float32))
    for got, double in zip(predict(RULES, committee=single), predict(RULES), strict=True):
        np.testing.assert_allclose(variances(got)[1], variances(double)[1], rtol=1e-3)


@pytest.mark.parametrize("include_noise", [True, False])
def test_the_diagonal_of_the_covariance_is_the_calibrated_variance(*, include_noise: bool) -> None:
    store = FactorStore(committee_of(GP, BLOCKS), 1e9, calibrated=True)
    request = Request(store.committee, identity_scaling(2), X_TEST)
    _, covariance = npae_covariance(NPAE(), request, store, SerialEngine(), include_noise=include_noise)
    [pointwise] = predict([NPAE()])
    np.testing.assert_allclose(covariance.diagonal(), variances(pointwise)[int(include_noise)], rtol=1e-8)
    assert np.linalg.eigvalsh(covariance).min() > 0
