"""Predictions to a tolerance against the sum over all experts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel

from committees import identity_scaling, variances
from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, GPoE, Rule
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.prediction import FactorStore, predict, predict_rules
from gpcommittee.prediction.request import Request
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Hyperparameters, Prediction
from smooth_committees import committee_on, make_committee, points


class StageSeen:
    def __init__(self, total: int | None) -> None:
        self.total = total
        self.advances: list[int] = []

    def advance(self, n: int = 1, note: str | None = None) -> None:
        self.advances.append(n)


class StagesSeen(SilentReporter):
    def __init__(self) -> None:
        self.seen: list[StageSeen] = []

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[StageSeen]:
        self.seen.append(StageSeen(total))
        yield self.seen[-1]


@pytest.fixture(autouse=True)
def _choose_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "FEWEST_EXPERTS", 4)


@pytest.mark.parametrize(
    ("kernel", "ratio"),
    [
        (ScaleKernel(RBFKernel(ard_num_dims=2).initialize(lengthscale=torch.tensor([0.2, 3.0]))), 15.0),
        (
            RBFKernel(active_dims=(0,)).initialize(lengthscale=0.2)
            * RBFKernel(active_dims=(1,)).initialize(lengthscale=3.0),
            15.0,
        ),
        (RBFKernel().initialize(lengthscale=0.2), 1.0),
    ],
    ids=["a lengthscale per input", "a kernel per input", "one lengthscale"],
)
def test_nearby_points_are_near_in_the_metric_of_the_kernel(kernel: Kernel, ratio: float) -> None:
    function = KernelFunction(kernel.double())
    X = torch.from_numpy(np.random.default_rng(0).normal(size=(600, 2)))
    committee = Committee(function, Hyperparameters(function.start, 0.0), X, X[:, 0], np.array([0, 600]))
    points = np.random.default_rng(1).normal(size=(50, 2))
    spread = Request(committee, identity_scaling(2), points).spread()
    stretched = spread / points
    np.testing.assert_allclose(stretched, np.broadcast_to(stretched[0], stretched.shape), rtol=1e-12)
    assert stretched[0, 0] / stretched[0, 1] == pytest.approx(ratio, rel=1e-6)


RULES: list[AdditiveRule] = [GRBCM(), GRBCM(lead="first"), GRBCM(lead=None), GRBCM(level="observation"), RBCM(), BCM()]


def run(
    committee: Committee,
    x: FloatArray,
    rules: list[Rule],
    tolerance: float,
    *,
    engine: Engine | None = None,
    budget: float = 1e9,
    calibrated: bool = False,
) -> list[Prediction]:
    store = FactorStore(committee, budget, calibrated)
    scaling = identity_scaling(x.shape[1])
    return predict_rules(store, scaling, x, rules, engine or SerialEngine(), SilentReporter(), tolerance=tolerance)


def changes(rule: AdditiveRule, got: Prediction, full: Prediction) -> tuple[FloatArray, FloatArray]:
    """Change of the mean in predicted standard deviations, relative change of the variance at the rule's level."""
    got_latent, got_noisy = variances(got)
    latent, noisy = variances(full)
    new, old = (got_latent, latent) if rule.level == "latent" else (got_noisy, noisy)
    return np.abs(got.mean - full.mean) / np.sqrt(noisy), np.abs(new / old - 1)


def assert_within(
    committee: Committee, x: FloatArray, rule: AdditiveRule, tolerance: float, *, calibrated: bool = False
) -> None:
    [full] = run(committee, x, [rule], 0.0, calibrated=calibrated)
    [got] = run(committee, x, [rule], tolerance, calibrated=calibrated)
    mean, variance = changes(rule, got, full)
    assert mean.max(initial=0.0) <= tolerance
    assert variance.max(initial=0.0) <= tolerance


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("partition", ["tree", "random"])
@pytest.mark.parametrize("kernel", ["squared_exponential", "matern12", "matern32", "rational_quadratic"])
def test_change_keeps_within_the_tolerance(kernel: str, partition: str, tolerance: float) -> None:
    committee = make_committee(60, 25, kernel=kernel, partition=partition)
    assert_within(committee, points(700), GRBCM(), tolerance)


@pytest.mark.parametrize("lengthscale", [0.05, 0.15, 1.0, 5.0])
@pytest.mark.parametrize("noise", [1e-6, 1e-1])
def test_rough_and_smooth_functions(lengthscale: float, noise: float) -> None:
    committee = make_committee(60, 25, lengthscale=lengthscale, noise=noise)
    assert_within(committee, points(700), GRBCM(), 1e-2)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("kernel", ["squared_exponential", "matern32"])
def test_every_rule_with_a_reference(rule: AdditiveRule, kernel: str) -> None:
    committee = make_committee(60, 25, kernel=kernel)
    for tolerance in (1e-2, 1e-3):
        assert_within(committee, points(700), rule, tolerance)


@pytest.mark.parametrize("inputs", ["clustered", "duplicated"])
@pytest.mark.parametrize("kernel", ["squared_exponential", "matern32"])
def test_clustered_and_duplicated_inputs(inputs: str, kernel: str) -> None:
    committee = make_committee(60, 25, kernel=kernel, inputs=inputs, noise=1e-3)
    x = np.concatenate([points(300), committee.X.numpy()[:400]])
    assert_within(committee, x, GRBCM(), 1e-2)


@pytest.mark.parametrize("rule", [GRBCM(), RBCM(), BCM()], ids=str)
@pytest.mark.parametrize("lengthscale", [0.5, 1.0])
def test_where_most_rows_are_the_same_row(rule: AdditiveRule, lengthscale: float) -> None:
    generator = np.random.default_rng(3)
    X = generator.normal(size=(2000, 4))
    X[:1600] = generator.normal(size=4)
    y = np.sin(100 * X[:, 0]) + 0.1 * generator.normal(size=len(X))
    kernel = MaternKernel(1.5, active_dims=(0,)) * MaternKernel(2.5, ard_num_dims=3, active_dims=(1, 2, 3))
    committee = committee_on(X, "tree", n_experts=50, kernel=kernel, lengthscale=lengthscale, noise=0.1, y=y)
    x = np.concatenate([X[:20], generator.normal(size=(300, 4)), 2 * generator.normal(size=(200, 4))])
    for tolerance in (1e-2, 1e-3):
        assert_within(committee, x, rule, tolerance)


def test_many_small_experts() -> None:
    committee = make_committee(200, 12, lengthscale=0.2)
    for tolerance in (1e-2, 1e-3):
        assert_within(committee, points(1500), GRBCM(), tolerance)


@pytest.mark.parametrize("inputs", ["scattered", "grid"])
@pytest.mark.parametrize("rule", [GRBCM(), GRBCM(lead="first"), RBCM()], ids=str)
def test_calibration_where_experts_differ_in_their_noise(rule: AdditiveRule, inputs: str) -> None:
    committee = make_committee(60, 25, lengthscale=0.7)
    generator = np.random.default_rng(0)
    deviation = np.repeat(10.0 ** generator.uniform(-2, 0.5, 60), 25)
    noisy = replace(committee, y=committee.y + torch.from_numpy(deviation * generator.standard_normal(1500)))
    axis = np.linspace(-0.5, 0.5, 25)
    x = points(400) if inputs == "scattered" else np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    for tolerance in (1e-1, 1e-2):
        assert_within(noisy, x, rule, tolerance, calibrated=True)


@pytest.mark.parametrize("n_experts", [1, 2, 3, 4, 5])
def test_few_experts(n_experts: int) -> None:
    assert_within(make_committee(n_experts, 30), points(200), GRBCM(), 1e-3)


@pytest.mark.parametrize("n_points", [0, 1, 2, 40])
def test_few_points(n_points: int) -> None:
    committee = make_committee(60, 25, lengthscale=0.2)
    assert_within(committee, points(n_points, seed=n_points), GRBCM(), 1e-3)


def test_far_points_and_repeated_points() -> None:
    committee = make_committee(60, 25, lengthscale=0.2)
    far = np.array([[1e3, 0.0], [-5.0, 5.0], [1e300, -1e300], [2.6, 2.6]])
    x = np.concatenate([points(200), np.repeat(points(3, seed=1), 50, axis=0), far])
    assert_within(committee, x, GRBCM(), 1e-3)


def test_points_on_a_fine_grid_are_taken_from_pivots() -> None:
    committee = make_committee(60, 25, lengthscale=1.0)
    axis = np.linspace(-0.5, 0.5, 45)
    x = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    for tolerance in (1e-1, 1e-2, 1e-3):
        for rule in (GRBCM(), GRBCM(lead="first"), RBCM()):
            assert_within(committee, x, rule, tolerance)
    assert_within(committee, x, GRBCM(), 1e-2, calibrated=True)


def test_more_inputs() -> None:
    committee = make_committee(40, 30, n_features=6, lengthscale=2.0)
    assert_within(committee, points(500, 6), GRBCM(), 1e-2)


def test_zero_is_the_full_sum_to_the_bit_and_other_rules_are_left_alone() -> None:
    committee = make_committee(20, 20)
    x = points(50)
    [zero] = run(committee, x, [GRBCM()], 0.0)
    [full] = predict_rules(
        FactorStore(committee, 1e9), identity_scaling(2), x, [GRBCM()], SerialEngine(), SilentReporter()
    )
    np.testing.assert_array_equal(zero.mean, full.mean)
    [gpoe] = run(committee, x, [GPoE()], 0.0)
    together = run(committee, x, [GRBCM(), GPoE()], 1e-2)
    np.testing.assert_array_equal(together[1].mean, gpoe.mean)


@pytest.mark.parametrize("lengthscale", [0.2, 1.0])
def test_every_engine_budget_and_order_of_points_gives_the_same_bits(lengthscale: float) -> None:
    committee = make_committee(60, 25, lengthscale=lengthscale)
    x = points(2500)
    [expected] = run(committee, x, [GRBCM()], 1e-2)
    [threads] = run(committee, x, [GRBCM()], 1e-2, engine=ThreadEngine(3))
    np.testing.assert_array_equal(threads.mean, expected.mean)
    for budget in (0.0, 3e5):
        [small] = run(committee, x, [GRBCM()], 1e-2, budget=budget)
        np.testing.assert_array_equal(small.mean, expected.mean)


@pytest.mark.parametrize("partition", ["random", "tree"])
@pytest.mark.parametrize("rule", [GRBCM(), RBCM()])
def test_rows_far_from_all_others_are_not_overlooked(rule: AdditiveRule, partition: str) -> None:
    generator = np.random.default_rng(0)
    X = 0.15 * generator.standard_normal((1500, 2))
    lonely = generator.choice(len(X), 30, replace=False)
    X[lonely] = generator.uniform(-3, 3, (30, 2))
    committee = committee_on(X, partition, n_experts=5, lengthscale=0.5, noise=1e-2)
    x = X[lonely] + 0.01
    [got], [full] = (run(committee, x, [rule], tolerance) for tolerance in (1e-2, 0.0))
    assert max(change.max() for change in changes(rule, got, full)) <= 1e-2


def test_among_few_experts_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    committee, x = make_committee(30, 12), np.random.default_rng(0).uniform(-2, 2, (40, 2))
    [to_tolerance], [full] = (run(committee, x, [GRBCM()], tolerance) for tolerance in (0.1, 0.0))
    np.testing.assert_array_equal(to_tolerance.mean, full.mean)


def test_points_so_far_away_that_no_expert_is_a_candidate() -> None:
    committee = make_committee(60, 25)
    assert_within(committee, 20 + 0.1 * points(400), GRBCM(), 1e-2)


@pytest.mark.parametrize("rule", [GRBCM(lead="first"), RBCM(), BCM()], ids=str)
@pytest.mark.parametrize(("kernel", "lengthscale", "noise"), [("matern12", 0.3, 1e-4), ("matern32", 0.1, 1e-6)])
def test_experts_that_know_only_where_no_check_is(
    rule: AdditiveRule, kernel: str, lengthscale: float, noise: float
) -> None:
    X = np.random.default_rng(0).uniform(-2, 2, (800, 1))
    committee = committee_on(X, "tree", n_experts=40, kernel=kernel, lengthscale=lengthscale, noise=noise)
    x = np.concatenate([np.linspace(-2.5, 2.5, 300)[:, None], points(300, 1), X[:150] + 1e-3])
    for tolerance in (1e-1, 1e-3):
        assert_within(committee, x, rule, tolerance)


@pytest.mark.parametrize(
    ("lengthscale", "half_width", "seed", "tolerance"), [(0.7, 0.7, 1, 1e-4), (0.4, 0.5, 1, 1e-5), (0.5, 0.6, 2, 1e-5)]
)
def test_experts_that_know_most_at_a_point_beside_which_no_sample_is(
    lengthscale: float, half_width: float, seed: int, tolerance: float
) -> None:
    committee = make_committee(200, 30, kernel="matern12", lengthscale=lengthscale, noise=1e-8)
    x = 0.3 + half_width * np.random.default_rng(seed).uniform(-1, 1, (1024, 2))
    assert_within(committee, x, GRBCM(), tolerance)


@pytest.mark.parametrize("seed", [11, 13, 16])
def test_an_expert_that_leads_where_its_rows_say_too_little(seed: int) -> None:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(6000, 8))
    y = np.sign(X[:, 0] * X[:, 1]) + 0.02 * generator.normal(size=6000)
    generator.normal(size=(1500, 8))
    x = 1.3 * generator.normal(size=(1500, 8))
    committee = committee_on(X, "tree", n_experts=60, kernel="matern12", lengthscale=1.5, noise=1e-3, y=y)
    assert_within(committee, x, GRBCM(), 1e-2)


@pytest.mark.parametrize("rule", [GRBCM(), RBCM()], ids=str)
@pytest.mark.parametrize(("smoothness", "lengthscale"), [(0.5, 0.02), (1.5, 0.02), (0.5, 0.1)])
def test_where_no_expert_is_far_in_every_input(rule: AdditiveRule, smoothness: float, lengthscale: float) -> None:
    kernel = ScaleKernel(MaternKernel(smoothness, active_dims=(0,))) + ScaleKernel(
        MaternKernel(smoothness, active_dims=(1,))
    )
    X, x = (np.random.default_rng(2).normal(size=(n, 2)) for n in (3000, 700))
    y = np.sign(np.sin(20 * X[:, 0]))
    committee = committee_on(X, "tree", n_experts=60, kernel=kernel, lengthscale=lengthscale, noise=1e-2, y=y)
    assert_within(committee, x, rule, 1e-2)


@pytest.mark.parametrize("n_points", [40, 700, 1500, 5000])
def test_progress_ends_where_it_said_it_would(n_points: int) -> None:
    committee = make_committee(60, 25)
    stages = StagesSeen()
    store = FactorStore(committee, 3e5)
    predict_rules(store, identity_scaling(2), points(n_points), [GRBCM()], SerialEngine(), stages, tolerance=0.1)
    compressed, predicted = stages.seen
    assert compressed.advances == [1] * 59
    for stage in stages.seen:
        assert stage.total == sum(stage.advances)
    assert len(predicted.advances) > 1 or n_points < 256
