"""NPAE over a few experts at each test point, and over augmented experts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from committees import Blocks, committee_of, identity_scaling, predict, random_blocks, variances
from gpcommittee.aggregation import GRBCM, NPAE, RBCM, Communication, MostCertain, Rule
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.errors import InvalidParameterError, MemoryBudgetError
from gpcommittee.prediction import FactorStore, predict_rules, restricted, stream
from gpcommittee.prediction.restricted import LARGEST_GROUP, Needs
from gpcommittee.progress import SilentReporter
from naive import Array, NaiveGP, aggregate_npae

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (40, 2))
SIZES = [9, 14, 7, 12, 10, 8]
EITHER = pytest.mark.parametrize("augmented", [False, True])


def moments(rule: Rule, blocks: Blocks, x: Array = X_TEST, gp: NaiveGP = GP) -> tuple[Array, Array]:
    [prediction] = predict(committee_of(gp, blocks), x, [rule])
    return prediction.mean, variances(prediction)[0]


def exact(blocks: Blocks, x: Array = X_TEST) -> tuple[Array, Array]:
    X, y = np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    found = np.array([GP.latent_moments(X, y, point) for point in x])
    return found[:, 0], found[:, 1]


def variances_of_each(blocks: Blocks, *, augmented: bool) -> Array:
    """Latent variances, shape (n_experts, n_points)."""
    sets = [[blocks[0], block] for block in blocks[1:]] if augmented else [[block] for block in blocks]
    return np.array([exact(some)[1] for some in sets])


def of_chosen(blocks: Blocks, x: Array, k: int) -> tuple[float, float]:
    """The paper's NPAE of the k most certain experts at one point, written out."""
    of_each = [GP.latent_moments(X, y, x)[1] for X, y in blocks]
    return aggregate_npae(GP, [blocks[i] for i in np.argsort(of_each)[:k]], x)


def of_residuals(blocks: Blocks, x: Array, k: int) -> tuple[float, float]:
    """The best linear prediction of f - mu_c from k augmented experts' means, less mu_c, by dense covariances."""
    (X_c, y_c), others = blocks[0], blocks[1:]
    inverse = np.linalg.inv(GP.k(X_c, X_c) + GP.noise_variance * np.eye(len(y_c)))

    def residual(a: Array, b: Array) -> Array:
        return GP.k(a, b) - GP.k(a, X_c) @ inverse @ GP.k(X_c, b)

    left = [residual(X, X) + GP.noise_variance * np.eye(len(y)) for X, y in others]
    cross = [residual(X, x[None])[:, 0] for X, _ in others]
    weights = [np.linalg.solve(S, c) for S, c in zip(left, cross, strict=True)]
    means = np.array([w @ (y - GP.k(X, X_c) @ inverse @ y_c) for w, (X, y) in zip(weights, others, strict=True)])
    with_target = np.array([w @ c for w, c in zip(weights, cross, strict=True)])
    covariance = np.array(
        [
            [weights[i] @ (left[i] if i == j else residual(others[i][0], others[j][0])) @ weights[j] for j in range(n)]
            for n in [len(others)]
            for i in range(n)
        ]
    )
    best = np.argsort(-with_target)[:k]
    alpha = np.linalg.solve(covariance[np.ix_(best, best)], with_target[best])
    mean, variance = GP.latent_moments(X_c, y_c, x)
    return mean + alpha @ means[best], variance - alpha @ with_target[best]


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(2, 15), min_size=2, max_size=6), k=st.integers(1, 7), seed=st.integers(0, 50))
def test_it_is_npae_of_each_points_own_experts(sizes: list[int], k: int, seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    mean, variance = moments(NPAE(n_experts=k), blocks, X_TEST[:7])
    expected = np.array([of_chosen(blocks, x, k) for x in X_TEST[:7]])
    np.testing.assert_allclose(mean, expected[:, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance + GP.noise_variance, expected[:, 1], rtol=1e-7)


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(2, 15), min_size=2, max_size=6), k=st.integers(1, 7), seed=st.integers(0, 50))
def test_over_augmented_experts_it_is_that_of_the_residual_process(sizes: list[int], k: int, seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    mean, variance = moments(NPAE(n_experts=k, augmented=True), blocks, X_TEST[:7])
    expected = np.array([of_residuals(blocks, x, k) for x in X_TEST[:7]])
    np.testing.assert_allclose(mean, expected[:, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, expected[:, 1], rtol=1e-7)


@pytest.mark.parametrize("k", [len(SIZES), len(SIZES) + 5])
def test_as_many_experts_as_there_are_give_npae(k: int) -> None:
    blocks = random_blocks(SIZES, 2, seed=2)
    for got, expected in zip(moments(NPAE(n_experts=k), blocks), moments(NPAE(), blocks), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_all_augmented_experts_may_be_named_by_their_number() -> None:
    blocks = random_blocks(SIZES, 2, seed=2)
    all_of_them, as_many = (moments(NPAE(n_experts=k, augmented=True), blocks) for k in (None, len(SIZES) - 1))
    np.testing.assert_array_equal(all_of_them, as_many)


def test_all_experts_need_no_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    committee = committee_of(GP, random_blocks(SIZES, 2, seed=2))
    everyone, few = NPAE(augmented=True), NPAE(augmented=True, n_experts=2)
    together, expected = predict(committee, X_TEST, [few, everyone])[1], predict(committee, X_TEST, [everyone])[0]
    np.testing.assert_array_equal(together.mean, expected.mean)

    def forbidden(*_: object) -> None:
        raise AssertionError("ranked the experts")

    monkeypatch.setattr(restricted, "most_certain", forbidden)
    [alone] = predict(committee, X_TEST, [everyone])
    np.testing.assert_array_equal(alone.mean, expected.mean)
    with pytest.raises(AssertionError, match="ranked"):
        predict(committee, X_TEST, [few])


@EITHER
def test_one_expert_is_the_most_certain_one(*, augmented: bool) -> None:
    blocks = random_blocks(SIZES, 2, seed=2)
    got = moments(NPAE(n_experts=1, augmented=augmented), blocks)
    for values, expected in zip(got, moments(MostCertain(augmented=augmented), blocks), strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-10)


def test_two_sets_are_the_exact_gp_for_augmented_experts() -> None:
    blocks = random_blocks([30, 25], 2, seed=4)
    for rule in (NPAE(augmented=True), NPAE(augmented=True, n_experts=3)):
        for got, expected in zip(moments(rule, blocks), exact(blocks), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9)


@EITHER
def test_one_set_is_the_exact_gp(*, augmented: bool) -> None:
    blocks = random_blocks([40], 2, seed=0)
    for got, expected in zip(moments(NPAE(n_experts=2, augmented=augmented), blocks), exact(blocks), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@EITHER
@pytest.mark.parametrize("seed", range(5))
def test_variance_lies_between_the_exact_gps_and_each_chosen_experts(seed: int, *, augmented: bool) -> None:
    blocks = random_blocks(SIZES, 2, seed)
    _, least = exact(blocks)
    of_each = variances_of_each(blocks, augmented=augmented)
    before = of_each.min(axis=0)
    for k in range(1, len(of_each) + 1):
        _, variance = moments(NPAE(n_experts=k, augmented=augmented), blocks)
        assert (variance >= least * (1 - 1e-9)).all()
        assert (variance <= before * (1 + 1e-9)).all()
        before = variance


def test_no_rule_linear_in_the_same_experts_has_a_smaller_expected_error() -> None:
    """GRBCM's mean is such a rule; NPAE's variance is that of its error."""
    blocks, x = random_blocks([6, 8, 5, 7], 2, seed=0), X_TEST[:10]
    X, rules = np.vstack([X for X, _ in blocks]), [NPAE(augmented=True), NPAE(augmented=True, n_experts=2), GRBCM()]
    committee = committee_of(GP, blocks)
    of_each_row = [predict(replace(committee, y=y), x, rules) for y in torch.eye(len(X), dtype=torch.float64)]
    weights = np.array([[prediction.mean for prediction in one] for one in of_each_row]).transpose(1, 2, 0)
    noisy = GP.k(X, X) + GP.noise_variance * np.eye(len(X))
    expected = GP.signal_variance + ((weights @ noisy - 2 * GP.k(x, X)) * weights).sum(axis=2)
    said = [variances(one)[0] for one in of_each_row[0]]
    np.testing.assert_allclose(said[:2], expected[:2], rtol=1e-9)
    assert (expected[0] < expected[2]).all()


@EITHER
def test_expert_order_does_not_matter(*, augmented: bool) -> None:
    blocks = random_blocks(SIZES, 2, seed=6)
    turned = [blocks[0], *blocks[:0:-1]] if augmented else blocks[::-1]
    rule = NPAE(n_experts=3, augmented=augmented)
    for forward, backward in zip(moments(rule, blocks), moments(rule, turned), strict=True):
        np.testing.assert_allclose(forward, backward, rtol=1e-9)


@EITHER
def test_groups_chunks_engines_and_company_change_nothing(monkeypatch: pytest.MonkeyPatch, *, augmented: bool) -> None:
    committee = committee_of(GP, random_blocks([11] * 20, 2, seed=3))
    x = np.random.default_rng(1).uniform(-3, 3, (300, 2))
    rules = [NPAE(n_experts=k, augmented=augmented) for k in (3, 2)]
    whole = predict(committee, x, rules)
    threads = predict(committee, x, [*rules, NPAE(n_experts=4, augmented=not augmented)], engine=ThreadEngine(3))[:2]
    for one, other in zip(whole, threads, strict=True):
        np.testing.assert_array_equal(one.mean, other.mean)
        np.testing.assert_array_equal(variances(one), variances(other))
    [few] = predict(committee, x[40:60], rules[1:])
    np.testing.assert_allclose(few.mean, whole[1].mean[40:60], rtol=1e-9)
    monkeypatch.setattr(restricted, "LARGEST_GROUP", 32)
    monkeypatch.setattr(stream, "CHUNK", 7)
    for one, other in zip(whole, predict(committee, x, rules), strict=True):
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
        np.testing.assert_allclose(variances(one), variances(other), rtol=1e-9)


@EITHER
def test_a_small_budget_gives_the_same_numbers(*, augmented: bool) -> None:
    committee = committee_of(GP, random_blocks([11] * 20, 2, seed=3))
    x = np.random.default_rng(1).uniform(-3, 3, (60, 2))
    rule = NPAE(n_experts=3, augmented=augmented)
    needs = Needs.of([rule], committee.offsets, 1)
    budget = 1.01 * (needs.group_bytes(16) + needs.factor_bytes(np.arange(3)))
    assert needs.group_size(budget) < needs.group_size(1e9) == LARGEST_GROUP
    [small], [large] = (predict(committee, x, [rule], budget=bytes_) for bytes_ in (budget, 1e9))
    np.testing.assert_allclose(small.mean, large.mean, rtol=1e-9)


def test_beyond_the_budget_is_refused_with_the_estimate() -> None:
    committee = committee_of(GP, random_blocks([9] * 8, 2, seed=3))
    with pytest.raises(MemoryBudgetError, match=r"NPAE over 3 experts .* GiB .*the budget is .* GiB.*n_experts"):
        predict(committee, X_TEST, [NPAE(n_experts=3)], budget=1e3)


@EITHER
def test_far_from_the_data_the_prior_remains(*, augmented: bool) -> None:
    blocks = random_blocks(SIZES, 2, seed=6)
    mean, variance = moments(NPAE(n_experts=3, augmented=augmented), blocks, np.full((1, 2), 1e3))
    assert mean[0] == 0
    assert variance[0] == pytest.approx(GP.signal_variance, rel=1e-12)


@EITHER
def test_identical_experts_need_jitter_and_get_it(*, augmented: bool) -> None:
    first, block = random_blocks([12, 12], 2, seed=1)
    mean, variance = moments(NPAE(n_experts=2, augmented=augmented), [first, block, block, block])
    assert np.isfinite(mean).all()
    assert (variance > 0).all()


@EITHER
def test_of_equally_certain_experts_the_first_is_taken(*, augmented: bool) -> None:
    near, (_, y) = random_blocks([12, 12], 2, seed=1)
    communication = (np.array([[-2.5, 0.0], [2.5, 0.0]]), np.ones(2))
    mirrored = (-near[0], y)
    rule, x = NPAE(n_experts=1, augmented=augmented), np.zeros((1, 2))
    mean, _ = moments(rule, [communication, near, mirrored], x)
    swapped, _ = moments(rule, [communication, mirrored, near], x)
    assert abs(mean[0] - swapped[0]) > 1e-3


@EITHER
def test_the_dispersion_is_that_of_the_additive_rule_over_the_same_experts(*, augmented: bool) -> None:
    committee = committee_of(GP, random_blocks(SIZES, 2, seed=2))
    rules = [NPAE(n_experts=len(SIZES), augmented=augmented), GRBCM() if augmented else RBCM()]
    ratios = []
    for calibrated in (True, False):
        store = FactorStore(committee, 1e9, calibrated)
        predictions = predict_rules(store, identity_scaling(2), X_TEST, rules, SerialEngine(), SilentReporter())
        ratios.append([variances(one)[1] for one in predictions])
    npae, additive = np.array(ratios[0]) / np.array(ratios[1])
    assert npae.std() > 1e-3
    np.testing.assert_allclose(npae, additive, rtol=1e-9)


@EITHER
def test_single_precision_is_computed_in_double(*, augmented: bool) -> None:
    committee = committee_of(GP, random_blocks(SIZES, 2, seed=2))
    single = replace(committee, kernel=committee.kernel.as_type(torch.float32))
    run = partial(predict, x=X_TEST, rules=[NPAE(n_experts=3, augmented=augmented)])
    [got], [expected] = run(single), run(committee)
    np.testing.assert_allclose(got.mean, expected.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(variances(got)[1], variances(expected)[1], rtol=1e-5)


@EITHER
def test_no_points_and_the_mean_alone(*, augmented: bool) -> None:
    committee, rule = committee_of(GP, random_blocks(SIZES, 2, seed=3)), NPAE(n_experts=2, augmented=augmented)
    assert predict(committee, np.empty((0, 2)), [rule])[0].mean.shape == (0,)
    store, scaling = FactorStore(committee, 1e9), identity_scaling(2)
    full, mean = (
        predict_rules(store, scaling, X_TEST, [rule], SerialEngine(), SilentReporter(), mean_only=mean_only)[0]
        for mean_only in (False, True)
    )
    assert mean.var_latent is None
    np.testing.assert_array_equal(mean.mean, full.mean)


def test_rules_keep_their_order_among_others() -> None:
    committee = committee_of(GP, random_blocks(SIZES, 2, seed=3))
    rules = [NPAE(n_experts=2), GRBCM(), NPAE(augmented=True), NPAE(), NPAE(n_experts=3), Communication()]
    together = predict(committee, X_TEST, rules)
    for rule, got in zip(rules, together, strict=True):
        np.testing.assert_allclose(got.mean, predict(committee, X_TEST, [rule])[0].mean, rtol=1e-10)


@pytest.mark.parametrize("n_experts", [0, 2.5, True, "3"])
def test_the_number_of_experts_is_checked(n_experts: object) -> None:
    with pytest.raises(InvalidParameterError, match="n_experts must be an integer of at least 1, or None"):
        NPAE(n_experts=n_experts)  # type: ignore[arg-type]
