"""One battery over every additive rule, against the paper's equations written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from committees import committee_of, predict, random_blocks, variances
from gpcommittee.aggregation import (
    BCM,
    GRBCM,
    NPAE,
    PAPER_RULES,
    RBCM,
    RULES,
    AdditiveRule,
    Barycenter,
    Communication,
    Context,
    Experts,
    GPoE,
    MostCertain,
    NormalisedGPoE,
    PoE,
    Reference,
    Rule,
    Term,
    add,
    empty,
    finish,
    make_rule,
    merge,
    rule_from_spec,
    rule_to_spec,
    single,
)
from gpcommittee.aggregation.grbcm import Lead
from gpcommittee.aggregation.rule import Level
from gpcommittee.aggregation.table import written
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import Moments
from naive import NaiveGP, aggregate

LEVELS: tuple[Level, ...] = ("latent", "observation")
LEADS: tuple[Lead, ...] = ("first", "best", None)
ADDITIVE = ["poe", "gpoe", "bcm", "rbcm"]
MAKERS: dict[str, Callable[..., AdditiveRule]] = {"poe": PoE, "gpoe": GPoE, "bcm": BCM, "rbcm": RBCM}
ALL_RULES: list[AdditiveRule] = [
    *(make(level=level) for make in (PoE, GPoE, BCM, RBCM, Communication) for level in LEVELS),
    *(GPoE(level=level, weights="entropy") for level in LEVELS),
    *(GRBCM(level=level, lead=lead) for level in LEVELS for lead in LEADS),
    *(
        make(level=level, augmented=augmented)
        for make in (MostCertain, NormalisedGPoE, Barycenter)
        for level in LEVELS
        for augmented in (True, False)
    ),
    *(
        make(augmented=augmented, weights="softmax")
        for make in (NormalisedGPoE, Barycenter)
        for augmented in (True, False)
    ),
    *(Barycenter(augmented=augmented, spread="variance") for augmented in (True, False)),
]
GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (7, 2))
FAR = np.full((1, 2), 1e3)

pytestmark = pytest.mark.filterwarnings("error")


def each_rule(rules: Sequence[Rule]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rule", rules, ids=str)


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5), seed=st.integers(0, 50))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_rules_are_the_papers_equations(name: str, level: Level, sizes: list[int], seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [MAKERS[name](level=level)])
    expected = np.array([aggregate(GP, blocks, x, name, level == "observation") for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(variances(prediction)[1], expected[:, 1], rtol=1e-9)


@given(sizes=st.lists(st.integers(1, 20), min_size=2, max_size=5), seed=st.integers(0, 50))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("lead", LEADS)
def test_grbcm_is_the_papers_equations(lead: Lead, level: Level, sizes: list[int], seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    rule = GRBCM(level=level, lead=lead)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [rule])
    expected = np.array([aggregate(GP, blocks, x, "grbcm", level == "observation", lead) for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(variances(prediction)[1], expected[:, 1], rtol=1e-8)


@each_rule([rule for rule in ALL_RULES if not isinstance(rule, RBCM) and rule != GPoE(rule.level, "entropy")])
def test_one_expert_is_the_exact_gp(rule: Rule) -> None:
    [(X, y)] = random_blocks([40], 2, seed=0)
    [prediction] = predict(committee_of(GP, [(X, y)]), X_TEST, [rule])
    expected = np.array([GP.latent_moments(X, y, x) for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(variances(prediction)[0], expected[:, 1], rtol=1e-9)


def test_one_expert_is_not_the_exact_gp_for_rbcm() -> None:
    blocks = random_blocks([40], 2, seed=0)
    rbcm, exact = predict(committee_of(GP, blocks), X_TEST, [RBCM(), BCM()])
    assert np.abs(rbcm.mean - exact.mean).max() > 1e-3


@each_rule([rule for rule in ALL_RULES if rule.experts is Experts.AUGMENTED and rule != GRBCM(rule.level, None)])
def test_two_sets_are_the_exact_gp_on_their_union_for_augmented_experts(rule: Rule) -> None:
    blocks = random_blocks([30, 25], 2, seed=4)
    [prediction] = predict(committee_of(GP, blocks), X_TEST, [rule])
    X, y = np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    expected = np.array([GP.latent_moments(X, y, x) for x in X_TEST])
    np.testing.assert_allclose(prediction.mean, expected[:, 0], rtol=1e-9)
    np.testing.assert_allclose(variances(prediction)[0], expected[:, 1], rtol=1e-9)


@each_rule([rule for rule in ALL_RULES if rule.experts is Experts.BASE])
def test_rules_over_base_experts_do_not_depend_on_their_order(rule: Rule) -> None:
    blocks = random_blocks([10, 14, 7, 9], 2, seed=6)
    [forward] = predict(committee_of(GP, blocks), X_TEST, [rule])
    [backward] = predict(committee_of(GP, blocks[::-1]), X_TEST, [rule])
    np.testing.assert_allclose(forward.mean, backward.mean, rtol=1e-10)
    np.testing.assert_allclose(variances(forward)[1], variances(backward)[1], rtol=1e-10)


@each_rule([rule for rule in ALL_RULES if rule.experts is Experts.AUGMENTED and rule != GRBCM(rule.level, "first")])
def test_rules_over_augmented_experts_do_not_depend_on_the_order_after_the_communication_set(rule: Rule) -> None:
    blocks = random_blocks([10, 14, 7, 9], 2, seed=6)
    [forward] = predict(committee_of(GP, blocks), X_TEST, [rule])
    [backward] = predict(committee_of(GP, [blocks[0], *blocks[:0:-1]]), X_TEST, [rule])
    np.testing.assert_allclose(forward.mean, backward.mean, rtol=1e-10)


@each_rule([rule for rule in ALL_RULES if not isinstance(rule, PoE) and rule != GPoE(rule.level, "entropy")])
def test_far_from_the_data_the_prior_remains(rule: Rule) -> None:
    [prediction] = predict(committee_of(GP, random_blocks([10, 14, 7], 2, seed=6)), FAR, [rule])
    assert prediction.mean[0] == pytest.approx(0.0, abs=1e-12)
    assert variances(prediction)[0][0] == pytest.approx(GP.signal_variance, rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_far_from_the_data_poe_is_the_prior_over_m(level: Level) -> None:
    [prediction] = predict(committee_of(GP, random_blocks([10, 14, 7], 2, seed=6)), FAR, [PoE(level=level)])
    at_level = variances(prediction)[level == "observation"][0]
    prior = GP.signal_variance + (GP.noise_variance if level == "observation" else 0.0)
    assert at_level == pytest.approx(prior / 3, rel=1e-12)


@each_rule([rule for rule in ALL_RULES if rule.level == "latent"])
def test_latent_level_never_promises_less_than_the_noise(rule: Rule) -> None:
    [prediction] = predict(committee_of(GP, random_blocks([15] * 12, 2, seed=7)), X_TEST, [rule])
    latent, noisy = variances(prediction)
    assert (latent > 0).all()
    assert (noisy >= GP.noise_variance).all()


def test_observation_level_can_promise_less_than_the_noise() -> None:
    [prediction] = predict(committee_of(GP, random_blocks([60] * 30, 2, seed=7)), X_TEST, [PoE(level="observation")])
    assert (variances(prediction)[1] < GP.noise_variance).any()


@each_rule(ALL_RULES)
def test_extreme_points_give_finite_numbers(rule: Rule) -> None:
    blocks = random_blocks([10, 14, 7], 2, seed=6)
    x = np.vstack([blocks[0][0][:2], blocks[1][0][:2], FAR, 1e150 * FAR / 1e3])
    tight = NaiveGP(GP.lengthscale, GP.signal_variance, 1e-10)
    [prediction] = predict(committee_of(tight, blocks), x, [rule])
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(variances(prediction)[1]).all()
    assert (variances(prediction)[1] > 0).all()


def test_gpoe_scales_the_variance_not_the_mean_of_poe() -> None:
    poe, gpoe = predict(committee_of(GP, random_blocks([10, 14, 7], 2, seed=6)), X_TEST, [PoE(), GPoE()])
    np.testing.assert_allclose(gpoe.mean, poe.mean, rtol=1e-12)
    np.testing.assert_allclose(variances(gpoe)[0], 3 * variances(poe)[0], rtol=1e-12)


def test_bcm_corrects_by_the_prior() -> None:
    poe, bcm = predict(committee_of(GP, random_blocks([10, 14, 7], 2, seed=6)), X_TEST, [PoE(), BCM()])
    expected = 1 / variances(poe)[0] - 2 / GP.signal_variance
    np.testing.assert_allclose(1 / variances(bcm)[0], expected, rtol=1e-12)


def terms(n_terms: int) -> list[Term]:
    generator = np.random.default_rng(n_terms)
    return [Term(*(torch.from_numpy(generator.uniform(0, 1, 4)) for _ in range(6))) for _ in range(n_terms)]


@given(n_terms=st.integers(0, 8), cut=st.integers(0, 8))
def test_accumulators_are_a_monoid(n_terms: int, cut: int) -> None:
    parts = [single(term) for term in terms(n_terms)]
    whole = reduce(merge, parts, empty(torch.zeros(4, dtype=torch.float64)))
    halves = merge(
        reduce(merge, parts[:cut], empty(torch.zeros(4, dtype=torch.float64))),
        reduce(merge, parts[cut:], empty(torch.zeros(4, dtype=torch.float64))),
    )
    assert whole.count == halves.count == n_terms
    np.testing.assert_allclose(whole.precision, halves.precision, rtol=1e-14)
    np.testing.assert_allclose(whole.shift, halves.shift, rtol=1e-14)
    np.testing.assert_allclose(whole.dispersion, halves.dispersion, rtol=1e-14)
    if whole.lead is not None and halves.lead is not None:
        assert torch.equal(whole.lead.precision, halves.lead.precision)
        assert torch.equal(whole.lead.weight, halves.lead.weight)


def test_the_first_of_equally_certain_experts_leads() -> None:
    ones = torch.ones(2, dtype=torch.float64)
    lead = merge(single(Term(*[ones] * 6)), single(Term(ones, ones, 2 * ones, ones, ones, ones))).lead
    assert lead is not None
    assert torch.equal(lead.shift, ones)


@given(count=st.integers(1, 30), seed=st.integers(0, 99))
@each_rule(ALL_RULES)
def test_the_dispersion_lies_between_those_of_the_experts_and_the_prior(
    rule: AdditiveRule, count: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    prior, zeros = torch.full((6,), 2.0, dtype=torch.float64), torch.zeros(6, dtype=torch.float64)
    known = torch.from_numpy(generator.uniform(0.5, 1.9, 6))
    dispersions = 10.0 ** generator.uniform(-1, 1, count + 1)
    context = Context(prior, Moments(zeros, known, float(dispersions[0])), 1e-3)
    most = known if rule.experts is Experts.AUGMENTED else prior
    total = empty(prior)
    for expert in range(1, count + 1):
        variance = most * torch.from_numpy(10.0 ** generator.uniform(-4, 0, 6))
        total = add(rule, total, Moments(zeros, variance, float(dispersions[expert])), context, expert)
    found = finish(rule, total, context).dispersion
    within = [1.0, *dispersions] if rule.reference is Reference.COMMUNICATION else [1.0, *dispersions[1:]]
    assert (found >= (1 - 1e-12) * min(within)).all()
    assert (found <= (1 + 1e-12) * max(within)).all()


def test_the_most_certain_expert_has_its_own_dispersion() -> None:
    prior, zero = torch.full((1,), 2.0, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    rule, context = MostCertain(augmented=False), Context(prior, None, 1e-3)
    total = empty(prior)
    for expert, (variance, dispersion) in enumerate([(1.0, 9.0), (0.5, 4.0), (1.5, 9.0)]):
        total = add(rule, total, Moments(zero, torch.full_like(prior, variance), dispersion), context, expert)
    assert finish(rule, total, context).dispersion.item() == pytest.approx(4.0 ** (1 - 0.5 / 2.0), rel=1e-12)


@each_rule([*RULES.values(), *PAPER_RULES.values(), *ALL_RULES])
def test_rules_survive_their_description(rule: Rule) -> None:
    assert rule_from_spec(rule_to_spec(rule)) == rule


@each_rule([*RULES.values(), *PAPER_RULES.values(), *ALL_RULES])
def test_a_rule_is_written_as_one_can_ask_for_it(rule: Rule) -> None:
    names = {made.__name__: made for made in map(type, [*RULES.values()])}
    assert make_rule(eval(written(rule), names)) == rule


def test_settings_that_are_the_defaults_are_not_written() -> None:
    rules = [NormalisedGPoE(weights="softmax"), NormalisedGPoE(augmented=False), PoE(), GRBCM("observation", lead=None)]
    assert [written(rule) for rule in rules] == [
        "'softmax_gpoe'",
        "NormalisedGPoE(augmented=False)",
        "'poe'",
        "GRBCM(level='observation', lead=None)",
    ]


def test_unknown_names_and_settings_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"'npoe'.*'bcm'.*'rbcm'"):
        make_rule("npoe")
    with pytest.raises(InvalidParameterError, match=r"PoE: level must be one of .*'observation'.*got 'noisy'"):
        PoE(level="noisy")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="weights must be one of"):
        GPoE(weights="equal")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="lead must be one of"):
        GRBCM(lead="last")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [NPAE(), NPAE(1e-10)], ids=str)
def test_npae_survives_its_spec(rule: NPAE) -> None:
    assert rule_from_spec(rule_to_spec(rule)) == rule
    assert (rule.experts, rule.reference) == (Experts.BASE, Reference.NONE)
