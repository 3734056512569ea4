"""Predictions by the nearest experts of each test point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from committees import identity_scaling, variances
from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, GPoE
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import PartitionSizes, partition_rows
from gpcommittee.prediction import FactorStore, neighbourhood, predict_rules, resolve_nearest
from gpcommittee.prediction.boxes import Boxes, boxes_around, within_reach
from gpcommittee.prediction.neighbourhood import Nearest, neighbourhood_of
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Hyperparameters, IntArray, Prediction

RULES = [GRBCM(), GRBCM(level="observation", lead="first"), RBCM(), RBCM(level="observation"), BCM()]


def committee(n_rows: int = 900, n_experts: int = 30, dtype: torch.dtype = torch.float64, seed: int = 0) -> Committee:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-3, 3, (n_rows, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * generator.standard_normal(n_rows)
    partition = partition_rows(X, "tree", PartitionSizes(n_experts, n_rows // n_experts), seed)
    kernel = KernelFunction(make_kernel("matern32", 2).initialize(**{"base_kernel.lengthscale": [[0.5, 1.5]]}), dtype)
    return Committee(
        kernel,
        Hyperparameters(kernel.start, float(np.log(0.01))),
        kernel.tensor(X[partition.order]),
        kernel.tensor(y[partition.order]),
        partition.offsets,
    )


def shares(boxes: Boxes, experts: IntArray, x: FloatArray, k: int, everyone: IntArray | None = None) -> FloatArray:
    """Of some experts among everyone, by default these."""
    everyone = experts if everyone is None else everyone
    return neighbourhood_of(x, Nearest(boxes, k), everyone, np.arange(len(x))).shares(boxes, experts)


def points(n_points: int = 300, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).uniform(-3.5, 3.5, (n_points, 2))


def predicted(
    of: Committee,
    rule: AdditiveRule,
    x: FloatArray,
    n_nearest: int | None,
    budget: float = 1e9,
    engine: Engine | None = None,
) -> Prediction:
    store = FactorStore(of, budget, calibrated=True)
    engine = engine or SerialEngine()
    return predict_rules(store, identity_scaling(2), x, [rule], engine, SilentReporter(), n_nearest=n_nearest)[0]


def assert_equal(first: Prediction, second: Prediction, rtol: float) -> None:
    np.testing.assert_allclose(first.mean, second.mean, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(variances(first), variances(second), rtol=rtol)


@pytest.mark.parametrize("rule", RULES)
def test_one_point_is_the_sum_of_its_experts_blended_with_the_reference(rule: AdditiveRule) -> None:
    """Each expert by itself, from committees of the reference and it alone, blended and combined by hand."""
    of, x, k = committee(), np.array([[0.3, -0.7]]), 5
    boxes = boxes_around(of)
    first = 1 if isinstance(rule, GRBCM) else 0
    everyone = np.arange(first, of.n_experts)
    share = shares(boxes, everyone, x / boxes.scales, k)[0]
    assert 0 < (share > 0).sum() <= k
    noise = of.noise_variance
    added = noise if rule.level == "observation" else 0.0
    reference = moments_of(of, 0, x) if isinstance(rule, GRBCM) else (0.0, prior_variance(of))
    s_ref = reference[1] + added
    precision, shift, gains = 1 / s_ref, reference[0] / s_ref, []
    for expert, part in zip(everyone.tolist(), share.tolist(), strict=True):
        mean, variance = moments_of(of, expert, x, augmented=isinstance(rule, GRBCM))
        latent = 1 / (part / variance + (1 - part) / reference[1])
        blended = (part * mean / variance + (1 - part) * reference[0] / reference[1]) * latent
        s = latent + added
        weight = 1.0 if isinstance(rule, BCM) else 0.5 * (np.log(s_ref) - np.log(s))
        gains.append((1 / s - 1 / s_ref, blended / s - reference[0] / s_ref, weight))
    if isinstance(rule, GRBCM):
        lead = 0 if rule.lead == "first" else int(np.argmax([gain for gain, _, _ in gains]))
        gains[lead] = (*gains[lead][:2], 1.0)
    if isinstance(rule, GRBCM) and rule.lead != "first":
        gains = [(gain, move, min(weight, 1.0)) for gain, move, weight in gains]
    precision += sum(weight * gain for gain, _, weight in gains)
    shift += sum(weight * move for _, move, weight in gains)
    store = FactorStore(of, 1e9)
    found = predict_rules(store, identity_scaling(2), x, [rule], SerialEngine(), SilentReporter(), n_nearest=k)[0]
    assert found.mean[0] == pytest.approx(shift / precision, rel=1e-9)
    assert variances(found)[0][0] == pytest.approx(1 / precision - added, rel=1e-8)


def prior_variance(of: Committee) -> float:
    return float(of.prior_variance(of.kernel.tensor(np.zeros((1, 2))))[0])


def moments_of(of: Committee, expert: int, x: FloatArray, *, augmented: bool = False) -> tuple[float, float]:
    """Exact GP on the rows of one expert, with the communication rows if augmented."""
    blocks = [of.block(0), of.block(expert)] if augmented else [of.block(expert)]
    X, y = (torch.cat(parts) for parts in zip(*blocks, strict=True))
    at = of.kernel.tensor(x)
    solved = torch.linalg.solve(of.noisy_covariance(X, of.noise_variance), of.covariance(X, at))
    mean, variance = solved[:, 0] @ y, of.prior_variance(at)[0] - of.covariance(at, X)[0] @ solved[:, 0]
    return float(mean), float(variance)


@pytest.mark.parametrize("rule", RULES)
def test_as_many_as_there_are_make_the_full_sum(rule: AdditiveRule) -> None:
    of, x = committee(), points()
    assert_equal(predicted(of, rule, x, of.n_experts), predicted(of, rule, x, None), 0.0)
    assert_equal(predicted(of, rule, x, of.n_experts - isinstance(rule, GRBCM)), predicted(of, rule, x, None), 0.0)


def test_other_rules_sum_all() -> None:
    of, x = committee(), points()
    assert_equal(predicted(of, GPoE(), x, 3), predicted(of, GPoE(), x, None), 0.0)


@pytest.mark.parametrize("rule", RULES)
def test_a_point_does_not_depend_on_the_others(rule: AdditiveRule) -> None:
    of, x = committee(), points(2500)
    whole = predicted(of, rule, x, 6)
    for rows in (slice(0, 1), slice(7, 40), np.random.default_rng(0).permutation(2500)):
        part = predicted(of, rule, x[rows], 6)
        np.testing.assert_allclose(part.mean, whole.mean[rows], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(variances(part), [v[rows] for v in variances(whole)], rtol=1e-9)


@pytest.mark.parametrize("group", [300, 5000])
@pytest.mark.parametrize("budget", [0.0, 1e6])
def test_budget_and_engine_make_no_difference(budget: float, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "GROUP", group)
    of, x = committee(), points(1500)
    assert_equal(predicted(of, GRBCM(), x, 6, budget, ThreadEngine(3)), predicted(of, GRBCM(), x, 6), 0.0)


def test_there_are_no_seams() -> None:
    """Steps of predictions along a line shrink with those between points, also where an expert comes or goes.

    With a rule that has no seams of its own: GRBCM's most certain expert changes at once.
    """
    of = committee()
    largest = []
    for n_points in (2000, 8000):
        line = np.linspace([-3, -2.5], [3, 2.5], n_points)
        found = predicted(of, RBCM(), line, 4)
        largest.append([np.abs(np.diff(found.mean)).max(), np.abs(np.diff(np.log(variances(found)[0]))).max()])
    assert largest[1][0] < 0.3 * largest[0][0]
    assert largest[1][1] < 0.5 * largest[0][1]


def test_predictions_are_those_of_all_experts_where_few_are_near() -> None:
    of, x = committee(3000, 100), points(500)
    few, every = predicted(of, GRBCM(), x, 24), predicted(of, GRBCM(), x, None)
    deviation = np.sqrt(variances(every)[1])
    assert np.abs((few.mean - every.mean) / deviation).max() < 0.1
    assert np.abs(variances(few)[1] / variances(every)[1] - 1).max() < 0.2


def test_float32() -> None:
    x = points(200)
    single, double = (predicted(committee(dtype=dtype), GRBCM(), x, 6) for dtype in (torch.float32, torch.float64))
    np.testing.assert_allclose(single.mean, double.mean, atol=2e-3)


def test_candidates_hold_the_nearest_of_every_point() -> None:
    generator = np.random.default_rng(0)
    lower = generator.uniform(-5, 5, (200, 3))
    boxes = Boxes(np.ones(3), lower, lower + generator.uniform(0, 1, (200, 3)))
    everyone = np.arange(3, 200)
    for _ in range(20):
        x = generator.uniform(-6, 6, 3) + generator.uniform(-0.5, 0.5, (50, 3))
        found = within_reach(boxes, everyone, x, 10)
        assert len(found) < 197
        of_all, of_found = shares(boxes, everyone, x, 10), shares(boxes, found, x, 10, everyone)
        np.testing.assert_array_equal(of_all[:, np.isin(everyone, found)], of_found)
        np.testing.assert_array_equal(of_all[:, ~np.isin(everyone, found)], 0.0)


def test_a_group_names_every_expert_that_has_a_share_at_its_points() -> None:
    generator = np.random.default_rng(0)
    lower = generator.uniform(-5, 5, (200, 3))
    boxes = Boxes(np.ones(3), lower, lower + generator.uniform(0, 1, (200, 3)))
    everyone, x = np.arange(3, 200), generator.uniform(-6, 6, (20_000, 3))
    rows = np.flatnonzero(np.abs(x).max(axis=1) < 1)
    group = neighbourhood_of(x, Nearest(boxes, 10), everyone, rows)
    squares = np.square(np.maximum(np.maximum(lower - x[:, None], x[:, None] - boxes.upper), 0)).sum(axis=2)[rows, 3:]
    np.testing.assert_allclose(group.rims, np.sort(squares, axis=1)[:, 9])
    assert (squares < group.rims[:, None]).any(axis=0)[~np.isin(everyone, group.experts)].sum() == 0
    assert len(group.experts) < 197
    assert group.among(range(50, 60)).tolist() == [e for e in group.experts if 50 <= e < 60]


def test_shares() -> None:
    boxes = Boxes(np.ones(1), np.array([[0.0], [2.0], [4.0], [9.0]]), np.array([[1.0], [3.0], [5.0], [9.0]]))
    at = np.array([[0.5], [1.5], [4.0]])
    expected = [[1, (1 - 1.5**2 / 3.5**2) ** 2, 0, 0], [0.9216, 0.9216, 0, 0], [0, (1 - 1 / 9) ** 2, 1, 0]]
    np.testing.assert_allclose(shares(boxes, np.arange(4), at, 3), expected)


def test_points_in_as_many_boxes_are_their_own() -> None:
    boxes = Boxes(np.ones(1), np.zeros((4, 1)), np.array([[1.0], [1.0], [1.0], [0.1]]))
    np.testing.assert_array_equal(shares(boxes, np.arange(4), np.array([[0.5]]), 3), [[1, 1, 1, 0]])


@pytest.mark.parametrize(
    ("nearest", "n_experts", "settings", "expected"),
    [
        ("auto", 1000, {}, 64),
        ("auto", 128, {}, None),
        ("auto", 1000, {"by_distance": False}, None),
        ("auto", 1000, {"tolerance": 0.1}, None),
        ("all", 1000, {}, None),
        (10, 11, {"tolerance": 0.1}, 10),
        (10, 10, {}, None),
    ],
)
def test_how_many(nearest: int | str, n_experts: int, settings: dict[str, Any], expected: int | None) -> None:
    assert resolve_nearest(nearest, n_experts, **{"by_distance": True, "tolerance": 0.0, **settings}) == expected


def test_a_committee_on_one_point_has_a_box_of_no_size() -> None:
    of = committee()
    same = replace(of, X=torch.zeros_like(of.X))
    assert np.isfinite(predicted(same, GRBCM(), points(20), 4).mean).all()
