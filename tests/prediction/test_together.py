from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from committees import committee_of, identity_scaling, predict, random_blocks, variances
from gpcommittee.aggregation import BCM, GRBCM, NPAE, RBCM, Communication, GPoE, PoE, Rule
from gpcommittee.engines import SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.prediction.factors import EXPERT_BLOCK
from gpcommittee.prediction.together import FEWEST_POINTS, MOST_POINTS, factor_batches, points_together
from gpcommittee.progress import SilentReporter
from gpcommittee.records import Prediction
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
ROUGH = NaiveGP(np.array([0.05, 0.05]), 1.0, 1e-20)
RULES: list[Rule] = [PoE(), GPoE(), BCM(), RBCM(), GRBCM(), GRBCM(lead="first"), Communication(), NPAE()]
X_TEST = np.random.default_rng(5).uniform(-3, 3, (60, 2))
SIZES = [25, *(20 + i % 4 for i in range(2 * EXPERT_BLOCK + 3)), 7]
TOGETHER = SerialEngine(batch_memory=1e9)


def committee_on(device: torch.device) -> Committee:
    return committee_of(GP, random_blocks(SIZES, 2, seed=0)).on(device)


def repeated(expert: int, gp: NaiveGP) -> Committee:
    """One of the experts has the same row all over, which cannot be factored without noise."""
    blocks = random_blocks([25] * 6, 2, seed=0)
    X, y = blocks[expert]
    blocks[expert] = (np.repeat(X[:1], len(X), axis=0), y)
    return committee_of(gp, blocks)


def assert_close(first: list[Prediction], second: list[Prediction], rtol: float = 1e-10, atol: float = 1e-10) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=atol)
        np.testing.assert_allclose(variances(a)[1], variances(b)[1], rtol=rtol, atol=atol)


@pytest.mark.parametrize("memory", [1.0, 2e6, 1e9], ids=["one by one", "a few", "all"])
@pytest.mark.parametrize("budget", [0.0, 1e9])
def test_batches_give_the_numbers_of_experts_one_by_one(memory: float, budget: float, device: torch.device) -> None:
    rules = RULES if budget else RULES[:-1]
    expected = predict(committee_on(torch.device("cpu")), X_TEST, rules)
    assert_close(predict(committee_on(device), X_TEST, rules, budget=budget, engine=SerialEngine(memory)), expected)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_no_points_give_empty_predictions(rule: Rule) -> None:
    [prediction] = predict(committee_on(torch.device("cpu")), np.empty((0, 2)), [rule], engine=TOGETHER)
    assert prediction.mean.shape == (0,)


def test_numbers_do_not_depend_on_the_points_per_task(monkeypatch: pytest.MonkeyPatch) -> None:
    committee = committee_on(torch.device("cpu"))
    expected = predict(committee, X_TEST, RULES, engine=TOGETHER)
    monkeypatch.setattr("gpcommittee.prediction.stream.points_together", lambda *_: 7)
    assert_close(predict(committee, X_TEST, RULES, engine=TOGETHER), expected)


def with_store(committee: Committee, engine: SerialEngine, rules: list[Rule]) -> tuple[FactorStore, list[Prediction]]:
    store = FactorStore(committee, 1e9)
    return store, predict_rules(store, identity_scaling(2), X_TEST, rules, engine, SilentReporter())


@pytest.mark.parametrize("expert", [0, 3])
def test_an_expert_that_fails_in_its_batch_gets_the_jitter_it_gets_alone(expert: int, device: torch.device) -> None:
    committee = repeated(expert, ROUGH)
    alone, expected = with_store(committee, SerialEngine(), [RBCM(), GRBCM()])
    together, found = with_store(committee.on(device), TOGETHER, [RBCM(), GRBCM()])
    assert 0 < together.largest_jitter == alone.largest_jitter
    assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("expert", [0, 3])
def test_an_expert_that_float32_cannot_factor_is_computed_in_float64(expert: int, device: torch.device) -> None:
    double = repeated(expert, replace(ROUGH, noise_variance=1e-4))
    kernel = KernelFunction(make_kernel("squared_exponential", 2), torch.float32)
    single = replace(double, kernel=kernel, X=double.X.float(), y=double.y.float())
    alone, expected = with_store(single, SerialEngine(), [RBCM(), GRBCM()])
    together, found = with_store(single.on(device), TOGETHER, [RBCM(), GRBCM()])
    assert expert in alone.in_double
    assert together.in_double == alone.in_double
    assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_points_and_experts_of_a_task_follow_from_its_memory() -> None:
    committee = committee_on(torch.device("cpu"))
    assert points_together(committee, EXPERT_BLOCK, 1e12) == MOST_POINTS
    assert points_together(committee, EXPERT_BLOCK, 1.0) == FEWEST_POINTS
    half = points_together(committee, EXPERT_BLOCK, 8 * 4 * (EXPERT_BLOCK * 23 + 25) * MOST_POINTS / 2)
    assert half == MOST_POINTS / 2
    assert factor_batches(committee, [1, 2, 36], 1e9) == [[2, 1], [36]]
    assert factor_batches(committee, [1, 2, 36], 0.0) == [[1], [2], [36]]
