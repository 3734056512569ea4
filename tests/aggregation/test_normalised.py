"""Rules whose weights add up to 1, and the most certain expert, which is their limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from committees import committee_of, predict, random_blocks, variances
from gpcommittee.aggregation import (
    RULES,
    Accumulator,
    AdditiveRule,
    Barycenter,
    Context,
    Experts,
    GPoE,
    MostCertain,
    NormalisedGPoE,
    Term,
    add,
    averaged,
    empty,
    finish,
    merge,
)
from gpcommittee.aggregation.normalised import SHARPEST, NormalisedRule, NormalisedWeights
from gpcommittee.aggregation.rule import Level
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import Moments
from naive import NaiveGP, aggregate_normalised

LEVELS: tuple[Level, ...] = ("latent", "observation")
WEIGHTS: tuple[NormalisedWeights, ...] = ("entropy", "softmax")
FORMS: dict[str, NormalisedRule] = {
    "product": NormalisedGPoE(),
    "deviation": Barycenter(),
    "variance": Barycenter(spread="variance"),
}
EVERY: list[AdditiveRule] = [
    *(
        replace(rule, weights=weights, augmented=a)
        for rule in FORMS.values()
        for weights in WEIGHTS
        for a in (True, False)
    ),
    *(MostCertain(augmented=a) for a in (True, False)),
]
GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (4, 2))

pytestmark = pytest.mark.filterwarnings("error")
each_rule = pytest.mark.parametrize("rule", EVERY, ids=str)


@given(
    sizes=st.lists(st.integers(1, 20), min_size=2, max_size=5),
    seed=st.integers(0, 50),
    sharpness=st.floats(0, 8),
    augmented=st.booleans(),
)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", FORMS)
def test_rules_are_their_formulas(
    form: str, weights: NormalisedWeights, level: Level, sizes: list[int], seed: int, sharpness: float, augmented: bool
) -> None:
    blocks = random_blocks(sizes, 2, seed)
    rule = replace(FORMS[form], level=level, weights=weights, sharpness=sharpness, augmented=augmented)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [rule])
    expected = np.array(
        [
            aggregate_normalised(
                GP, blocks, x, form, weights, sharpness, augmented=augmented, observation=level == "observation"
            )
            for x in X_TEST
        ]
    )
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(variances(prediction)[1], expected[:, 1], rtol=1e-7)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("augmented", [True, False])
def test_the_most_certain_expert_speaks_alone(augmented: bool, level: Level) -> None:
    blocks = random_blocks([10, 14, 7, 9], 2, seed=6)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [MostCertain(level, augmented)])
    X_c, y_c = blocks[0]
    sets = [(np.vstack([X_c, X]), np.append(y_c, y)) for X, y in blocks[1:]] if augmented else blocks
    for i, x in enumerate(X_TEST):
        mean, variance = min((GP.latent_moments(X, y, x) for X, y in sets), key=lambda moments: moments[1])
        assert prediction.mean[i] == pytest.approx(mean, rel=1e-9)
        assert variances(prediction)[0][i] == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("augmented", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_sharpness_leads_from_equal_weights_to_the_most_certain_expert(form: str, augmented: bool) -> None:
    committee = committee_of(GP, random_blocks([10, 14, 7, 9], 2, seed=6))
    rule = replace(FORMS[form], weights="softmax", augmented=augmented)
    rules = [replace(rule, sharpness=SHARPEST), MostCertain(augmented=augmented)]
    sharp, alone = predict(committee, X_TEST, rules)
    np.testing.assert_allclose(sharp.mean, alone.mean, rtol=1e-9)
    np.testing.assert_allclose(variances(sharp)[0], variances(alone)[0], rtol=1e-9)
    flat, gpoe = predict(committee, X_TEST, [NormalisedGPoE(augmented=False, sharpness=0), GPoE()])
    np.testing.assert_allclose(flat.mean, gpoe.mean, rtol=1e-10)
    np.testing.assert_allclose(variances(flat)[0], variances(gpoe)[0], rtol=1e-10)


def test_the_product_is_most_certain_then_the_barycenter_then_its_variance_form() -> None:
    committee = committee_of(GP, random_blocks([10, 14, 7, 9], 2, seed=6))
    product, deviation, variance = (variances(p)[0] for p in predict(committee, X_TEST, list(FORMS.values())))
    [best] = predict(committee, X_TEST, [MostCertain()])
    assert (product < deviation).all()
    assert (deviation < variance).all()
    assert (variances(best)[0] <= product).all()


def moments_of(rule: AdditiveRule, count: int, seed: int, dtype: torch.dtype) -> tuple[list[Moments], Context]:
    """Experts at 6 points; the last point is far from all, where each has the reference's moments."""
    generator = np.random.default_rng(seed)
    prior, known = np.full(6, 2.0), generator.uniform(0.5, 2.0, 6)
    known[-1] = prior[-1]
    communication = Moments(torch.tensor(generator.normal(size=6), dtype=dtype), torch.tensor(known, dtype=dtype))
    context = Context(
        torch.tensor(prior, dtype=dtype), communication if rule.experts is Experts.AUGMENTED else None, 1e-3
    )
    most = known if rule.experts is Experts.AUGMENTED else prior
    share = 10.0 ** generator.uniform(-8, 0, (count, 6))
    share[:, -1] = 1.0
    means = generator.normal(size=(count, 6))
    means[:, -1] = communication.mean[-1] if rule.experts is Experts.AUGMENTED else 0.0
    experts = zip(torch.tensor(means, dtype=dtype), torch.tensor(share * most, dtype=dtype), strict=True)
    return [Moments(*expert) for expert in experts], context


def sums(rule: AdditiveRule, experts: Sequence[Moments], context: Context) -> list[Accumulator]:
    start = empty(context.prior_variance)
    return [add(rule, start, moments, context, expert) for expert, moments in enumerate(experts)]


@given(count=st.integers(1, 9), cuts=st.lists(st.integers(0, 9), max_size=3), seed=st.integers(0, 99))
@each_rule
def test_experts_are_merged_in_any_grouping(rule: AdditiveRule, count: int, cuts: list[int], seed: int) -> None:
    experts, context = moments_of(rule, count, seed, torch.float64)
    parts, start = sums(rule, experts, context), empty(context.prior_variance)
    bounds = [0, *sorted(min(cut, count) for cut in cuts), count]
    groups = [reduce(merge, parts[a:b], start) for a, b in pairwise(bounds)]
    whole, grouped = (finish(rule, reduce(merge, of, start), context) for of in (parts, groups))
    torch.testing.assert_close(grouped.mean, whole.mean, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(grouped.var_latent, whole.var_latent, rtol=1e-9, atol=0.0)


@given(count=st.integers(1, 40), seed=st.integers(0, 99))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@each_rule
def test_results_stay_within_what_the_experts_say(
    rule: AdditiveRule, dtype: torch.dtype, count: int, seed: int
) -> None:
    experts, context = moments_of(rule, count, seed, dtype)
    total = reduce(merge, sums(rule, experts, context))
    result = finish(rule, total, context)
    means, variance = (torch.stack([getattr(m, name) for m in experts]) for name in ("mean", "var_latent"))
    slack = 50 * torch.finfo(dtype).eps
    assert (result.var_latent >= (1 - slack) * variance.amin(dim=0)).all()
    assert (result.var_latent <= (1 + slack) * variance.amax(dim=0)).all()
    assert (result.mean >= means.amin(dim=0) - slack * means.abs().amax(dim=0)).all()
    assert (result.mean <= means.amax(dim=0) + slack * means.abs().amax(dim=0)).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("sharpness", [0.0, 4.0, 1e3])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_add_up_to_one(weights: NormalisedWeights, sharpness: float, dtype: torch.dtype) -> None:
    rule = NormalisedGPoE(weights=weights, sharpness=sharpness, augmented=False)
    experts, context = moments_of(rule, 30, 0, dtype)
    logs = [rule.weight(moments.var_latent, context, i) for i, moments in enumerate(experts)]
    ones = torch.ones_like(context.prior_variance)
    only = [ones if expert == 7 else 0 * ones for expert in range(30)]
    total = reduce(merge, [averaged(Term(log, ones, of, ones, ones, ones)) for log, of in zip(logs, only, strict=True)])
    torch.testing.assert_close(total.precision, ones)
    torch.testing.assert_close(total.shift, torch.stack(logs).softmax(dim=0)[7], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_sharpest_weights_stay_finite_and_equal_where_experts_are_alike(
    weights: NormalisedWeights, dtype: torch.dtype
) -> None:
    rule = Barycenter(weights=weights, sharpness=SHARPEST, augmented=False)
    experts, context = moments_of(rule, 30, 0, dtype)
    ones = torch.ones_like(context.prior_variance)
    logs = [rule.weight(moments.var_latent, context, i) for i, moments in enumerate(experts)]
    total = reduce(merge, [averaged(Term(log, ones, i * ones, ones, ones, ones)) for i, log in enumerate(logs)])
    torch.testing.assert_close(total.precision, ones)
    assert float(total.shift[-1]) == pytest.approx(sum(range(30)) / 30, rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@each_rule
def test_where_no_expert_knows_more_the_reference_remains(rule: AdditiveRule, dtype: torch.dtype) -> None:
    experts, context = moments_of(rule, 12, 1, dtype)
    result = finish(rule, reduce(merge, sums(rule, experts, context)), context)
    torch.testing.assert_close(result.mean[-1], experts[0].mean[-1])
    torch.testing.assert_close(result.var_latent[-1], context.prior_variance[-1])


@each_rule
def test_without_augmented_experts_the_communication_expert_remains(rule: AdditiveRule) -> None:
    [(X, y)] = random_blocks([30], 2, seed=1)
    [prediction] = predict(committee_of(GP, [(X, y)]), X_TEST, [rule])
    expected = np.array([GP.latent_moments(X, y, x) for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(variances(prediction)[0], expected[:, 1], rtol=1e-9)


@pytest.mark.parametrize("name", sorted(set(RULES) - {"npae"}))
def test_no_default_form_ends_below_the_noise(name: str) -> None:
    committee = committee_of(GP, random_blocks([15] * 12, 2, seed=7))
    [prediction] = predict(committee, X_TEST, [RULES[name]])
    assert (variances(prediction)[1] >= GP.noise_variance).all()


def test_settings_that_are_not_allowed_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"NormalisedGPoE: weights must be one of .*'entropy'.*got 'equal'"):
        NormalisedGPoE(weights="equal")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match=r"Barycenter: spread must be one of .*got 'range'"):
        Barycenter(spread="range")  # type: ignore[arg-type]
    for value in (-1.0, float("nan"), 2 * SHARPEST):
        with pytest.raises(
            InvalidParameterError, match=r"sharpness must be a number from 0 to 1e\+06, got .*MostCertain"
        ):
            NormalisedGPoE(sharpness=value)
