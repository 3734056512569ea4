from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from committees import committee_of, identity_scaling, predict, random_blocks, variances
from gpcommittee.aggregation import (
    BCM,
    GRBCM,
    RBCM,
    Barycenter,
    Communication,
    Experts,
    GPoE,
    MostCertain,
    Neighbourhood,
    NormalisedGPoE,
    PoE,
    Rule,
)
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import AugmentedFactor, Committee, augmented_moments, factor_augmented
from gpcommittee.prediction import FactorStore, factor_budget, factoring, predict_rules, stream, usable_memory, view
from gpcommittee.prediction.factors import EXPERT_BLOCK, expert_blocks
from gpcommittee.progress import SilentReporter
from gpcommittee.records import Moments, Prediction
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
RULES: list[Rule] = [
    *(PoE(), GPoE(), BCM(), RBCM(), GRBCM(), GRBCM(lead="first"), Communication()),
    *(MostCertain(), MostCertain(augmented=False), NormalisedGPoE(), NormalisedGPoE(augmented=False), Barycenter()),
    Neighbourhood(n_rows=60, leaf_size=10),
]
X_TEST = np.random.default_rng(5).uniform(-3, 3, (2500, 2))


def many_experts() -> Committee:
    return committee_of(GP, random_blocks([6 + i % 4 for i in range(2 * EXPERT_BLOCK + 5)], 2, seed=0))


def assert_same(first: list[Prediction], second: list[Prediction], rtol: float) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=1e-12)
        np.testing.assert_allclose(variances(a)[1], variances(b)[1], rtol=rtol)


@pytest.mark.parametrize("n_points", [1, 40, 2500])
@pytest.mark.parametrize("engine", [ThreadEngine(2), ThreadEngine(4), ThreadEngine(20)], ids=["two", "four", "twenty"])
def test_every_engine_gives_the_same_bits(engine: Engine, n_points: int) -> None:
    committee, x = many_experts(), X_TEST[:n_points]
    assert_same(predict(committee, x, RULES), predict(committee, x, RULES, engine=engine), rtol=0)


def used_threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Filled with the threads that compute moments of augmented experts."""
    threads: set[int] = set()

    def noted(*arguments: Any) -> Moments:
        threads.add(threading.get_ident())
        time.sleep(0.01)
        return augmented_moments(*arguments)

    monkeypatch.setattr(view, "augmented_moments", noted)
    return threads


@pytest.mark.parametrize("n_points", [1, 40])
def test_few_points_are_shared_out_by_experts(n_points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = used_threads(monkeypatch)
    committee = committee_of(GP, random_blocks([9] * 12, 2, seed=0))
    for n_workers in (1, 3):
        threads.clear()
        store, engine = FactorStore(committee, 1e9), SerialEngine() if n_workers == 1 else ThreadEngine(n_workers)
        x = X_TEST[:n_points]
        predict_rules(store, identity_scaling(2), x, [GRBCM()], engine, SilentReporter())
        assert (len(threads) > 1) == (n_workers > 1)


def test_an_error_of_an_expert_at_few_points_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> Moments:
        raise ZeroDivisionError

    monkeypatch.setattr(view, "augmented_moments", failing)
    with pytest.raises(ZeroDivisionError):
        predict(many_experts(), X_TEST[:1], [GRBCM()], engine=ThreadEngine(4))


@pytest.mark.parametrize("chunk", [1, 7, 2499, 10_000])
def test_numbers_do_not_depend_on_the_chunk_size(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    committee, x = many_experts(), X_TEST[:40]
    expected = predict(committee, x, RULES)
    monkeypatch.setattr(stream, "CHUNK", chunk)
    assert_same(predict(committee, x, RULES), expected, rtol=1e-11)


@pytest.mark.parametrize("budget", [0.0, 2e4, 5e4])
def test_numbers_do_not_depend_on_the_memory_budget(budget: float) -> None:
    committee = many_experts()
    assert_same(predict(committee, X_TEST, RULES, budget=budget), predict(committee, X_TEST, RULES), rtol=0)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_one_pass_over_many_rules_equals_one_pass_each(rule: Rule) -> None:
    committee = many_experts()
    together = predict(committee, X_TEST[:50], RULES)[RULES.index(rule)]
    assert_same([together], predict(committee, X_TEST[:50], [rule]), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_no_points_give_empty_predictions(rule: Rule) -> None:
    [prediction] = predict(many_experts(), np.empty((0, 2)), [rule])
    assert prediction.mean.shape == (0,)


def run(committee: Committee, rules: list[Rule], store: FactorStore, *, mean_only: bool) -> list[Prediction]:
    return predict_rules(
        store, identity_scaling(2), X_TEST[:30], rules, SerialEngine(), SilentReporter(), mean_only=mean_only
    )


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_mean_only_leaves_out_the_variance_and_keeps_the_mean(rule: Rule) -> None:
    committee = many_experts()
    [mean_only] = run(committee, [rule], FactorStore(committee, 1e9), mean_only=True)
    [full] = run(committee, [rule], FactorStore(committee, 1e9), mean_only=False)
    assert mean_only.var_latent is None
    assert mean_only.var_noisy is None
    np.testing.assert_allclose(mean_only.mean, full.mean, rtol=1e-10, atol=1e-13)


def test_mean_of_one_expert_takes_no_triangular_solve_per_point(monkeypatch: pytest.MonkeyPatch) -> None:
    committee = committee_of(GP, random_blocks([30], 2, seed=0))

    def forbidden(*_: object) -> None:
        raise AssertionError("projected test points")

    monkeypatch.setattr(view, "project", forbidden)
    run(committee, [GRBCM()], FactorStore(committee, 1e9), mean_only=True)
    with pytest.raises(AssertionError, match="projected"):
        run(committee, [GRBCM()], FactorStore(committee, 1e9), mean_only=False)


def test_threads_of_the_user_may_share_a_store_too_small_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    committee = many_experts()
    store, x = FactorStore(committee, 2e4), X_TEST[:2]
    bytes_of = store._bytes

    def slowly(keys: Iterable[Any]) -> float:
        found = bytes_of(keys)
        time.sleep(0.002)
        return found

    monkeypatch.setattr(store, "_bytes", slowly)

    def predicted(rule: Rule) -> Prediction:
        return predict_rules(store, identity_scaling(2), x, [rule], SerialEngine(), SilentReporter())[0]

    rules: list[Rule] = [GRBCM(), RBCM()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(predicted, rules * 8))
    assert_same(found, [predicted(rule) for rule in rules * 8], rtol=0)


def test_kept_factors_are_not_computed_again() -> None:
    committee = many_experts()
    store = FactorStore(committee, 1e9)
    kinds, experts = frozenset({Experts.AUGMENTED, Experts.BASE}), range(committee.n_experts)
    first, second = (store.load(kinds, experts, SerialEngine()) for _ in range(2))
    assert all(first.base[i] is second.base[i] for i in experts)
    assert all(first.augmented[i] is second.augmented[i] for i in experts[1:])


def test_groups_cover_all_experts_in_order_and_fit_the_budget() -> None:
    committee = many_experts()
    block_bytes = [
        sum(float(committee.offsets[e + 1] - committee.offsets[e]) ** 2 * 8 for e in block)
        for block in expert_blocks(range(committee.n_experts))
    ]
    store = FactorStore(committee, max(block_bytes))
    groups = list(store.groups(frozenset({Experts.BASE})))
    assert [e for group in groups for e in group] == list(range(committee.n_experts))
    assert len(groups) == len(block_bytes)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_factors_alive_at_once_stay_within_the_budget(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    committee = many_experts()
    block = max(
        float(np.diff(committee.offsets)[b.start : b.stop].max()) for b in expert_blocks(range(committee.n_experts))
    )
    one_block = EXPERT_BLOCK * block * (block + 6) * 8
    total = sum(float(m * (m + 6) * 8) for m in np.diff(committee.offsets)[1:])
    alive: list[float] = []
    factored: weakref.WeakSet[AugmentedFactor] = weakref.WeakSet()

    def counted(*arguments: Any) -> AugmentedFactor:
        factor = factor_augmented(*arguments)
        factored.add(factor)
        alive.append(sum(float(f.lower.numel() + f.coupling.numel()) * 8 for f in list(factored)))
        return factor

    monkeypatch.setattr(factoring, "factor_augmented", counted)
    store = FactorStore(committee, share * total)
    for _ in range(2):
        run(committee, [GRBCM()], store, mean_only=False)
    assert max(alive) <= max(share * total, one_block)
    assert (len(alive) == committee.n_experts - 1) == (share == 1.0)


def test_a_lower_budget_lets_go_of_kept_factors() -> None:
    committee = many_experts()
    store = FactorStore(committee, 1e9)
    run(committee, [GRBCM()], store, mean_only=False)
    kept = weakref.ref(
        store.load(frozenset({Experts.AUGMENTED}), range(committee.n_experts), SerialEngine()).augmented[1]
    )
    assert kept() is not None
    store.budget = 0.0
    run(committee, [PoE()], store, mean_only=False)
    assert kept() is None


def test_factors_used_last_are_kept() -> None:
    committee, kinds, engine = many_experts(), frozenset({Experts.BASE}), SerialEngine()
    rows = np.diff(committee.offsets)
    store = FactorStore(committee, 8.0 * float(rows[1] ** 2 + rows[2] ** 2 + rows[3] ** 2))
    first = [store.load(kinds, [expert], engine).base[expert] for expert in (1, 2, 3)]
    assert store.load(kinds, [1], engine).base[1] is first[0]
    store.load(kinds, [2 + len(rows) // 2], engine)
    assert store.load(kinds, [1], engine).base[1] is first[0]
    assert store.load(kinds, [2], engine).base[2] is not first[1]


def test_largest_jitter_is_recorded() -> None:
    tight = NaiveGP(np.array([5.0, 5.0]), 1.0, 1e-18)
    committee = committee_of(tight, random_blocks([60, 60], 2, seed=0))
    store = FactorStore(committee, 1e9)
    store.load(frozenset({Experts.BASE}), range(2), SerialEngine())
    assert store.largest_jitter > 0


def test_budget_is_in_gibibytes_and_defaults_to_half_the_memory() -> None:
    assert factor_budget(2.0) == 2 * 1024**3
    assert factor_budget(None) == factor_budget(None, torch.device("cpu")) == 0.5 * usable_memory()
    assert 1e8 < usable_memory() < 1e15


def test_the_budget_is_of_the_device_that_holds_the_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1e9, 16e9))
    assert factor_budget(None, torch.device("cuda")) == 8e9
    assert factor_budget(2.0, torch.device("cuda")) == 2 * 1024**3


def test_prediction_does_not_change_its_inputs() -> None:
    committee, x = many_experts(), X_TEST[:20].copy()
    X_before, y_before = committee.X.clone(), committee.y.clone()
    predict(committee, x, RULES)
    np.testing.assert_array_equal(x, X_TEST[:20])
    assert torch.equal(committee.X, X_before)
    assert torch.equal(committee.y, y_before)
