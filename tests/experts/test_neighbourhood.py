"""Neighbourhood experts against dense inverses, rows that are really deleted, and plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from committees import committee_of, random_blocks
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.experts import Committee
from gpcommittee.experts.neighbourhood import (
    NEAREST,
    PRIOR_ROWS,
    SMALLEST_SQUARE,
    SURPRISES,
    WIDE,
    LeafMoments,
    LocalScales,
    NeighbourhoodFactor,
    _log_wide,
    factor_neighbourhood,
    leave_one_out_moments,
    nearness,
    neighbourhood_mean,
    neighbourhood_moments,
    without,
)
from gpcommittee.records import FloatArray, IntArray
from naive import Array, NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (15, 2))


def some_rows(n: int, seed: int) -> tuple[Committee, IntArray]:
    """A committee of a few more rows, and which n of them an expert has."""
    committee = committee_of(GP, random_blocks([n // 2 + 3, n - n // 2 + 4], 2, seed))
    return committee, np.random.default_rng(seed).permutation(n + 7)[:n].astype(np.int64)


def factored(
    committee: Committee, rows: IntArray, n_middle: int, own: FloatArray | None = None, calibrated: bool = True
) -> NeighbourhoodFactor:
    return factor_neighbourhood(committee, GP.lengthscale, rows, own, 1, n_middle, calibrated=calibrated)


def data_of(committee: Committee, rows: IntArray) -> tuple[Array, Array]:
    return committee.X[rows].numpy(), committee.y[rows].numpy()


def dense(X: Array, y: Array, noise: Array, x: Array) -> tuple[float, float]:
    """Mean and latent variance of the exact process with noise variances row by row."""
    inverse = np.linalg.inv(GP.k(X, X) + np.diag(noise))
    cross = GP.k(X, x[None])[:, 0]
    return float(cross @ inverse @ y), float(GP.signal_variance - cross @ inverse @ cross)


def deleted(X: Array, y: Array, noise: Array, j: int) -> tuple[float, float]:
    """Row j predicted by the others."""
    others = np.arange(len(y)) != j
    return dense(X[others], y[others], noise[others], X[j])


def arrays_of(moments: LeafMoments) -> tuple[Array, Array, Array]:
    return moments.mean.numpy(), moments.var_latent.numpy(), moments.noise.numpy()


@settings(max_examples=25)
@given(n=st.integers(1, 30), seed=st.integers(0, 50), own=st.booleans())
def test_it_is_the_exact_process_on_its_rows(n: int, seed: int, own: bool) -> None:
    committee, rows = some_rows(n, seed)
    generator = np.random.default_rng(seed)
    relative = np.exp(generator.normal(size=n)) if own else np.ones(n)
    variances_of_rows = np.stack([np.ones(n), relative]) if own else None
    factor = factored(committee, rows, 1, variances_of_rows, calibrated=False)
    x = torch.from_numpy(X_TEST)
    mean, variance, noise = arrays_of(neighbourhood_moments(committee, factor, x, X_TEST / GP.lengthscale))
    X, y = data_of(committee, rows)
    expected = np.array([dense(X, y, GP.noise_variance * relative, point) for point in X_TEST])
    np.testing.assert_allclose(mean, expected[:, 0], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(neighbourhood_mean(committee, factor, x).numpy(), mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(variance, expected[:, 1], rtol=1e-10, atol=1e-11)
    # The last row is the only one in the middle.
    np.testing.assert_allclose(noise, np.full(len(x), relative[-1]), rtol=1e-12)


@settings(max_examples=25)
@given(n=st.integers(2, 30), seed=st.integers(0, 50), own=st.booleans())
def test_a_row_left_out_is_a_row_deleted(n: int, seed: int, own: bool) -> None:
    committee, rows = some_rows(n, seed)
    relative = np.exp(np.random.default_rng(seed).normal(size=n)) if own else np.ones(n)
    variances_of_rows = np.stack([np.ones(n), relative]) if own else None
    factor = factored(committee, rows, n, variances_of_rows, calibrated=False)
    X, y = data_of(committee, rows)
    places = np.arange(n, dtype=np.int64)
    mean, variance, _ = arrays_of(leave_one_out_moments(committee, factor, places, X / GP.lengthscale))
    expected = np.array([deleted(X, y, GP.noise_variance * relative, j) for j in range(n)])
    np.testing.assert_allclose(mean, expected[:, 0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(variance, expected[:, 1], rtol=1e-9, atol=1e-10)


@settings(max_examples=25)
@given(n=st.integers(2, 30), seed=st.integers(0, 50), data=st.data(), own=st.booleans())
def test_squares_are_those_of_rows_deleted(n: int, seed: int, data: st.DataObject, own: bool) -> None:
    n_middle = data.draw(st.integers(1, n))
    committee, rows = some_rows(n, seed)
    generator = np.random.default_rng(seed)
    signal, relative = np.exp(generator.normal(size=(2, n))) if own else np.ones((2, n))
    factor = factored(committee, rows, n_middle, np.stack([signal, relative]) if own else None)
    X, y = data_of(committee, rows)
    noise = GP.noise_variance * relative
    expected = []
    for j in range(n - n_middle, n):
        mean, latent = deleted(X, y, noise, j)
        expected.append((y[j] - mean) ** 2 / (latent + noise[j]) / signal[j])
    assert factor.local is not None
    assert factor.local.squares is not None
    np.testing.assert_allclose(factor.local.squares, expected, rtol=1e-8)
    wider = np.log(max(float(np.mean(expected)), SMALLEST_SQUARE)) * n_middle / (n_middle + PRIOR_ROWS)
    np.testing.assert_allclose(factor.local.log_wide, np.full(n_middle, wider), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(factor.local.tree.data, X[-n_middle:] / GP.lengthscale)


def plain_scale(local: LocalScales, x: Array, left_out: int) -> tuple[float, float]:
    """Scale and relative noise at one point, row by row."""
    rows = [i for i in range(local.tree.n) if i != left_out]
    far = {i: float(np.linalg.norm(local.tree.data[i] - x)) for i in rows}
    near = sorted(rows, key=lambda i: far[i])[: NEAREST + 1]
    reach = far[near[-1]] * (1 + 1e-6)
    weight = {i: 1.0 if reach == 0 else 1 - (far[i] / reach) ** 2 for i in near}
    total = sum(weight.values())
    log_scale = log_noise = 0.0
    if local.squares is not None:
        count = total**2 / sum(w**2 for w in weight.values())
        wide = sum(weight[i] * local.log_wide[i] for i in near) / total
        mean = sum(weight[i] * local.squares[i] for i in near) / total
        mean = (count * mean + SURPRISES * np.exp(wide)) / (count + SURPRISES)
        log_scale = (count * np.log(mean) + PRIOR_ROWS * wide) / (count + PRIOR_ROWS)
    if local.log_own is not None:
        log_scale += sum(weight[i] * local.log_own[0, i] for i in near) / total
        log_noise = sum(weight[i] * local.log_own[1, i] for i in near) / total
    return float(np.exp(log_scale)), float(np.exp(log_noise))


@pytest.mark.parametrize("n_rows", [2, 30, NEAREST + 1, NEAREST + 2, 200])
@pytest.mark.parametrize(("calibrated", "own"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("some_left_out", [False, True])
def test_local_scales_are_those_of_a_loop(n_rows: int, calibrated: bool, own: bool, some_left_out: bool) -> None:
    generator = np.random.default_rng(n_rows)
    points = generator.normal(size=(n_rows, 3))
    squares = generator.chisquare(1, n_rows) if calibrated else None
    local = LocalScales(
        cKDTree(points), squares, generator.normal(size=n_rows), generator.normal(size=(2, n_rows)) if own else None
    )
    left_out = np.array([-1, 0, 1, n_rows - 1, -1], dtype=np.int64)
    x = np.vstack([generator.normal(size=3), points[[0, 1, n_rows - 1]], [1e3, 0, 0]])
    scale, noise = local.at(x, left_out if some_left_out else None)
    expected = [plain_scale(local, x[i], int(left_out[i]) if some_left_out else -1) for i in range(len(x))]
    np.testing.assert_allclose(scale, [one[0] for one in expected], rtol=1e-9)
    np.testing.assert_allclose(noise, [one[1] for one in expected], rtol=1e-9)


def test_a_scale_with_its_only_row_left_out_is_one() -> None:
    local = LocalScales(cKDTree(np.zeros((1, 2))), np.array([9.0]), np.array([0.5]), np.log([[4.0], [3.0]]))
    scale, noise = local.at(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 0]))
    np.testing.assert_allclose(scale, [1.0, 1.0])
    np.testing.assert_allclose(noise, [1.0, 1.0])


@pytest.mark.parametrize("n_rows", [5, 2 * WIDE, 2 * WIDE + 1])
def test_wider_surroundings_are_those_of_a_loop(n_rows: int) -> None:
    generator = np.random.default_rng(n_rows)
    tree, squares = cKDTree(generator.normal(size=(n_rows, 2))), generator.chisquare(1, n_rows)
    found = _log_wide(tree, squares)
    for i in (0, n_rows // 2, n_rows - 1):
        far = np.linalg.norm(tree.data - tree.data[i], axis=1)
        near, weights = np.arange(n_rows), np.ones(n_rows)
        if n_rows > 2 * WIDE:
            near = np.argsort(far)[: WIDE + 1]
            weights = 1 - (far[near] / far[near].max() / (1 + 1e-6)) ** 2
        count = weights.sum() ** 2 / (weights**2).sum()
        expected = count * np.log(weights @ squares[near] / weights.sum()) / (count + PRIOR_ROWS)
        assert found[i] == pytest.approx(expected, rel=1e-9)


def test_a_target_without_error_leaves_variances_above_zero() -> None:
    committee, rows = some_rows(20, 0)
    silent = replace(committee, y=torch.zeros_like(committee.y))
    factor = factored(silent, rows, 10)
    x = torch.from_numpy(X_TEST)
    _, variance, noise = arrays_of(neighbourhood_moments(silent, factor, x, X_TEST / GP.lengthscale))
    assert (variance > 0).all()
    assert (noise >= SMALLEST_SQUARE).all()
    assert (noise < 1e-2).all()


@given(n_rows=st.integers(1, 20), wanted=st.integers(1, 20), seed=st.integers(0, 100), data=st.data())
def test_without_is_a_search_that_never_saw_the_row(n_rows: int, wanted: int, seed: int, data: st.DataObject) -> None:
    generator = np.random.default_rng(seed)
    points, x = generator.integers(5, size=(n_rows, 1)), generator.integers(5, size=(6, 1))
    far = np.abs(points[:, 0] - x).astype(float)
    rows = np.argsort(far, axis=1, kind="stable")[:, : wanted + 1]
    left_out = np.array(data.draw(st.lists(st.integers(-1, n_rows - 1), min_size=6, max_size=6)))
    distances, numbers = without(left_out, np.take_along_axis(far, rows, axis=1), rows, wanted)
    for i, row in enumerate(left_out):
        others = [j for j in np.argsort(far[i], kind="stable") if j != row][:wanted]
        assert numbers[i, np.isfinite(distances[i])].tolist() == others
        assert distances[i, : len(others)].tolist() == far[i, others].tolist()


def test_nearness_falls_from_one_to_nothing() -> None:
    found = nearness(np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 4.0]]))
    np.testing.assert_allclose(found, [[1, 0.75, 0], [15 / 16, 15 / 16, 0]], atol=3e-6)
    assert (found >= 0).all()
    assert (np.diff(found, axis=1) <= 0).all()


def test_rows_at_one_distance_are_equally_near() -> None:
    same = nearness(np.full((1, 5), 3.0))
    assert (same == same[0, 0]).all()
    assert same[0, 0] > 0
    np.testing.assert_array_equal(nearness(np.zeros((1, 4))), np.ones((1, 4)))
    far = nearness(np.full((1, 3), 1e150))
    assert (far == far[0, 0]).all()
    assert far[0, 0] > 0


def test_rows_that_do_not_count_have_no_weight() -> None:
    found = nearness(np.array([[0.0, 1.0, np.inf], [np.inf, np.inf, np.inf]]))
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 0]], atol=3e-6)
    np.testing.assert_array_equal(found[:, 2], [0, 0])


def test_duplicate_rows_say_what_one_row_with_less_noise_says() -> None:
    X, y = np.array([[0.3, -0.2]]), np.array([0.7])
    blocks = [(np.repeat(X, 4, axis=0), y + np.array([-0.1, 0.1, 0.05, -0.05]))]
    factor = factored(committee_of(GP, blocks), np.arange(4), 4, calibrated=False)
    x = torch.from_numpy(X_TEST)
    mean, variance, _ = arrays_of(neighbourhood_moments(committee_of(GP, blocks), factor, x, X_TEST))
    expected = np.array([dense(X, y, np.array([GP.noise_variance / 4]), point) for point in X_TEST])
    np.testing.assert_allclose(mean, expected[:, 0], rtol=1e-10)
    np.testing.assert_allclose(variance, expected[:, 1], rtol=1e-10)


def test_rows_at_one_place_share_their_mean_square() -> None:
    """A search takes any of equal rows; those that differ from the others must count all the same."""
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(3, 2)), (30, 1, 9), axis=0)
    y = generator.normal(size=40)
    factor = factored(committee_of(GP, [(X, y)]), np.arange(40), 40)
    assert factor.local is not None
    assert factor.local.squares is not None
    noise = np.full(40, GP.noise_variance)
    errors = []
    for j in range(40):
        mean, latent = deleted(X, y, noise, j)
        errors.append((y[j] - mean) ** 2 / (latent + GP.noise_variance))
    for same in (slice(0, 30), slice(30, 31), slice(31, 40)):
        np.testing.assert_allclose(factor.local.squares[same], np.mean(errors[same]), rtol=1e-8)


def test_one_row_left_out_leaves_the_prior() -> None:
    committee = committee_of(GP, random_blocks([1], 2, seed=0))
    factor = factored(committee, np.array([0]), 1, calibrated=False)
    mean, variance, noise = arrays_of(leave_one_out_moments(committee, factor, np.array([0]), np.zeros((1, 2))))
    assert (mean[0], noise[0]) == (pytest.approx(0, abs=1e-12), 1)
    assert variance[0] == pytest.approx(GP.signal_variance, rel=1e-12)


def test_single_precision_is_nearly_the_same() -> None:
    committee, rows = some_rows(40, 3)
    single = replace(committee, kernel=committee.kernel.as_type(torch.float32))
    x, spread = torch.from_numpy(X_TEST), X_TEST / GP.lengthscale
    expected = arrays_of(neighbourhood_moments(committee, factored(committee, rows, 20), x, spread))
    found = neighbourhood_moments(single, factored(single, rows, 20), x.float(), spread)
    assert found.mean.dtype == found.var_latent.dtype == found.noise.dtype == torch.float32
    for got, one in zip(arrays_of(found), expected, strict=True):
        np.testing.assert_allclose(got, one, rtol=2e-4, atol=2e-5)


def test_a_covariance_that_cannot_be_factored_names_the_expert() -> None:
    committee, rows = some_rows(5, 0)
    broken = replace(committee, X=torch.full_like(committee.X, torch.nan))
    with pytest.raises(NotPositiveDefiniteError, match="leaf of expert 1"):
        factored(broken, rows, 5)
