"""Blended predictions against the definition written out, and against themselves computed in other ways."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from committees import committee_of, identity_scaling, random_blocks
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.prediction.neighbourhood import predict as module
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, OwnVariances
from naive import NaiveGP
from neighbourhoods import leaves_of, moments, own_committee, predicted, written_out

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
SIZES = [20, 35, 30, 40]
X_TEST = np.random.default_rng(5).uniform(-2.5, 2.5, (25, 2))
SIGNAL, NOISE = np.array([1.0, 0.5, 2.0, 3.0]), np.array([1.0, 4.0, 0.5, 9.0])
RULES = [
    Neighbourhood(n_rows=40, leaf_size=9),
    Neighbourhood(n_rows=30, leaf_size=12, communication=8),
    Neighbourhood(n_rows=25, leaf_size=25, blend=0.5),
    Neighbourhood(n_rows=24, leaf_size=5, communication=20, blend=0.1),
    Neighbourhood(n_rows=124, leaf_size=6, blend=1.0),
]
RULE = Neighbourhood(n_rows=40, leaf_size=8)
ENDS = [(2, 60), (1, 30), (0, 30)]


def committee(seed: int = 0, *, own: bool = False) -> Committee:
    blocks = random_blocks(SIZES, 2, seed)
    return own_committee(GP, blocks, SIGNAL, NOISE) if own else committee_of(GP, blocks)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("calibrated", [False, True], ids=["plain", "calibrated"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_it_is_the_definition_written_out(rule: Neighbourhood, calibrated: bool, own: bool) -> None:
    members = committee(own=own)
    naive = written_out(GP, members, rule)
    x = X_TEST[:6]
    expected = np.array([naive.predict(point, rule.blend, calibrated) for point in x]).T
    np.testing.assert_allclose(
        moments(predicted(members, rule, x, calibrated=calibrated)), expected, rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("seed", [3, 8, 13, 15, 17])
def test_any_sizes_are_the_definition_written_out(seed: int) -> None:
    """Also with fewer communication rows than asked for: the communication set has 20."""
    generator = np.random.default_rng(seed)
    n_rows, leaf_size, communication = (int(generator.integers(*ends)) for ends in ENDS)
    blend = float(generator.uniform(0.05, 1))
    rule = Neighbourhood(n_rows, leaf_size, communication, blend)
    members = committee(seed)
    naive = written_out(GP, members, rule)
    x = generator.uniform(-3, 3, (4, 2))
    expected = np.array([naive.predict(point, blend, False) for point in x]).T
    np.testing.assert_allclose(moments(predicted(members, rule, x, calibrated=False)), expected, rtol=1e-9, atol=1e-10)


def assert_same(found: FloatArray, expected: FloatArray, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_a_point_does_not_see_the_others_of_its_batch(own: bool) -> None:
    members = committee(own=own)
    expected = moments(predicted(members, RULE, X_TEST))
    for some in ([3], [24, 0, 7], list(range(24, -1, -1)), [5, 5, 5, 2]):
        assert_same(moments(predicted(members, RULE, X_TEST[some])), expected[:, some])


@pytest.mark.parametrize("name", ["PORTION", "CHUNK", "SEARCHED"])
@pytest.mark.parametrize("size", [1, 7, 24])
def test_numbers_do_not_depend_on_how_points_are_cut(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = moments(predicted(committee(), RULE, X_TEST))
    mean = predicted(committee(), RULE, X_TEST, mean_only=True).mean
    monkeypatch.setattr(module, name, size)
    assert_same(moments(predicted(committee(), RULE, X_TEST)), expected)
    assert_same(predicted(committee(), RULE, X_TEST, mean_only=True).mean, mean)


@pytest.mark.parametrize("engine", [SerialEngine(), ThreadEngine(3)], ids=["serial", "threads"])
@pytest.mark.parametrize("budget", [0.0, 3e4, 1e9])
def test_numbers_do_not_depend_on_threads_or_budget(budget: float, engine: Engine) -> None:
    expected = moments(predicted(committee(), RULE, X_TEST))
    np.testing.assert_array_equal(moments(predicted(committee(), RULE, X_TEST, budget=budget, engine=engine)), expected)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_mean_alone_is_the_mean(rule: Neighbourhood) -> None:
    found = predicted(committee(), rule, X_TEST, mean_only=True)
    assert found.var_latent is None
    assert found.var_noisy is None
    assert_same(found.mean, predicted(committee(), rule, X_TEST).mean)


def test_no_points_give_empty_predictions() -> None:
    assert moments(predicted(committee(), RULE, np.empty((0, 2)))).shape == (3, 0)
    assert predicted(committee(), RULE, np.empty((0, 2)), mean_only=True).mean.shape == (0,)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_far_outside_it_is_the_prior(rule: Neighbourhood) -> None:
    x = np.array([[60.0, -60.0], [1e8, 0.0], [-1e300, 1e300]])
    mean, latent, noisy = moments(predicted(committee(), rule, x, calibrated=False))
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose(latent, GP.signal_variance, rtol=1e-12)
    np.testing.assert_allclose(noisy, GP.signal_variance + GP.noise_variance, rtol=1e-12)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_far_outside_calibrated_variances_are_finite_and_keep_their_ratio(own: bool) -> None:
    x = np.array([[60.0, -60.0], [1e8, 0.0], [-1e300, 1e300]])
    mean, latent, noisy = moments(predicted(committee(own=own), RULE, x))
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    assert (latent > 0).all()
    assert (noisy < 1e3 * latent).all()
    if not own:
        np.testing.assert_allclose(noisy / latent, 1 + GP.noise_variance / GP.signal_variance, rtol=1e-12)


def with_rows(X: FloatArray, y: FloatArray, sizes: list[int]) -> Committee:
    """Experts of rows in any number of inputs."""
    kernel = make_kernel("matern32", X.shape[1])
    plain = committee_of(GP, random_blocks([2, 2], 2, seed=0))
    function = KernelFunction(kernel)
    return replace(
        plain,
        kernel=function,
        hyperparameters=replace(plain.hyperparameters, kernel=function.start),
        X=torch.from_numpy(X),
        y=torch.from_numpy(y),
        offsets=np.cumsum([0, *sizes]),
    )


@pytest.mark.parametrize("n_features", [1, 100])
def test_one_input_and_a_hundred(n_features: int) -> None:
    """Half of the rows know the function about as well as all of them: a sine along the first input."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(240, n_features)) * (1 if n_features == 1 else 0.05)
    X[:, 0] = generator.uniform(-2, 2, 240)
    members = with_rows(X, np.sin(2 * X[:, 0]), [40, 100, 100])
    x = X[:30] + 0.01
    mean, latent, noisy = moments(predicted(members, Neighbourhood(n_rows=120), x))
    np.testing.assert_allclose(mean, np.sin(2 * x[:, 0]), atol=0.2)
    assert (latent > 0).all()
    assert (noisy > latent).all()
    exact = moments(predicted(members, Neighbourhood(), x, calibrated=False))
    near = moments(predicted(members, Neighbourhood(n_rows=239, leaf_size=120), x, calibrated=False))
    np.testing.assert_allclose(near, exact, atol=0.02)


@pytest.mark.parametrize("calibrated", [False, True])
def test_constant_inputs(calibrated: bool) -> None:
    """All rows at one place: the mean of the target there, whichever leaves are asked."""
    y = np.random.default_rng(0).standard_normal(60)
    members = with_rows(np.zeros((60, 2)), y, [10, 25, 25])
    found = moments(
        predicted(
            members, Neighbourhood(n_rows=20, leaf_size=5), np.array([[0.0, 0.0], [0.5, 0.0]]), calibrated=calibrated
        )
    )
    assert np.isfinite(found).all()
    assert (found[1:] > 0).all()
    assert abs(found[0, 0]) < np.abs(y).max()


def test_more_duplicates_than_a_leaf_holds() -> None:
    generator = np.random.default_rng(0)
    X = np.repeat(generator.uniform(-2, 2, (4, 2)), 30, axis=0)
    y = np.sin(X).sum(axis=1) + 0.1 * generator.standard_normal(120)
    mixed = generator.permutation(120)
    members = with_rows(X[mixed], y[mixed], [30, 45, 45])
    x = np.vstack([X[::30], X[::30] + 1e-9, X_TEST[:5]])
    for rule in (Neighbourhood(n_rows=12, leaf_size=5), Neighbourhood(n_rows=60, leaf_size=10)):
        found = moments(predicted(members, rule, x))
        assert np.isfinite(found).all()
        assert (found[1:] > 0).all()
        np.testing.assert_allclose(found[:, 4:8], found[:, :4], rtol=1e-6)
    # Its 60 rows hold those at the point, all that matters there: 30, 5 or more of them known.
    np.testing.assert_allclose(found[0, :4], np.sin(X[::30]).sum(axis=1), atol=0.15)


@pytest.mark.parametrize("calibrated", [False, True])
def test_single_precision_is_nearly_the_same(calibrated: bool) -> None:
    double = committee()
    single = replace(double, kernel=double.kernel.as_type(torch.float32), X=double.X.float(), y=double.y.float())
    found = moments(predicted(single, RULE, X_TEST, calibrated=calibrated))
    expected = moments(predicted(double, RULE, X_TEST, calibrated=calibrated))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_what_float32_cannot_factor_is_factored_in_double() -> None:
    smooth = NaiveGP(np.array([20.0, 20.0]), 1.0, 1e-12)
    double = committee_of(smooth, random_blocks([20, 30, 30], 2, seed=0))
    single = replace(double, kernel=double.kernel.as_type(torch.float32))
    store = FactorStore(single, 1e9, True)
    arguments = identity_scaling(2), X_TEST, [RULE], SerialEngine(), SilentReporter()
    [found] = predict_rules(store, *arguments)
    assert store.in_double <= {1, 2}
    assert store.in_double or store.largest_jitter > 0
    assert np.isfinite(moments(found)).all()


@pytest.mark.parametrize("calibrated", [False, True])
def test_own_variances_equal_to_the_shared_ones_change_nothing(calibrated: bool) -> None:
    plain = committee()
    own = replace(plain, own=OwnVariances(np.ones(4), np.ones(4)))
    found, expected = (moments(predicted(one, RULE, X_TEST, calibrated=calibrated)) for one in (own, plain))
    assert_same(found, expected)


def test_user_threads_may_share_a_store() -> None:
    members = committee()
    store = FactorStore(members, 3e4, True)
    expected = moments(predicted(members, RULE, X_TEST))

    def ask(_: Any) -> FloatArray:
        arguments = identity_scaling(2), X_TEST, [RULE], SerialEngine(), SilentReporter()
        return moments(predict_rules(store, *arguments)[0])

    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(ask, range(6)):
            np.testing.assert_array_equal(found, expected)


def test_communication_rows_are_in_every_expert() -> None:
    rule = Neighbourhood(n_rows=30, leaf_size=6, communication=12)
    leaves = leaves_of(committee(), rule)
    for leaf in range(leaves.n_leaves):
        places, n_middle = leaves.rows_of(leaf)
        assert places[:12].tolist() == list(range(12))
        assert len(set(places.tolist())) == len(places) == 30
        assert n_middle == 2 * len(leaves.own(leaf))


def test_prediction_does_not_change_its_inputs() -> None:
    members, x = committee(), X_TEST.copy()
    X_before, y_before = members.X.clone(), members.y.clone()
    predicted(members, RULE, x)
    np.testing.assert_array_equal(x, X_TEST)
    assert torch.equal(members.X, X_before)
    assert torch.equal(members.y, y_before)
