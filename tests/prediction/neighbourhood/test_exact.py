"""Where an expert holds all rows, neighbourhood experts are the exact process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, LinearKernel, RBFKernel, ScaleKernel

from committees import committee_of, random_blocks
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.experts import Committee
from gpcommittee.experts.neighbourhood import PRIOR_ROWS, SURPRISES
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import FloatArray, Hyperparameters, OwnVariances
from naive import Array, NaiveGP
from neighbourhoods import moments, predicted

NOISE = 0.05
GP = NaiveGP(np.array([0.8, 1.2]), 1.5, NOISE)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (40, 2))
KERNELS: dict[str, Callable[[], Kernel]] = {
    "squared exponential": lambda: make_kernel("squared_exponential", 2).initialize(
        **{"base_kernel.lengthscale": [[0.5, 2.0]], "outputscale": 1.7}
    ),
    "matern12": lambda: make_kernel("matern12", 2),
    "matern32": lambda: make_kernel("matern32", 2).initialize(**{"base_kernel.lengthscale": [[1.5, 0.4]]}),
    "rational quadratic": lambda: make_kernel("rational_quadratic", 2),
    "linear + RBF": lambda: LinearKernel() + ScaleKernel(RBFKernel(active_dims=(1,))),
}


def committee_with(kernel: Kernel, sizes: list[int]) -> Committee:
    function = KernelFunction(kernel)
    blocks = random_blocks(sizes, 2, seed=1)
    return Committee(
        function,
        Hyperparameters(function.start, float(np.log(NOISE))),
        torch.from_numpy(np.vstack([X for X, _ in blocks])),
        torch.from_numpy(np.concatenate([y for _, y in blocks])),
        np.cumsum([0, *sizes]),
    )


def exact(kernel: Kernel, committee: Committee, x: Array, noise: FloatArray | float = NOISE) -> Array:
    """Mean, latent variance and variance of an observation by dense inverses, of the kernel as GPyTorch has it."""
    everything = torch.cat([committee.X, torch.from_numpy(x)])
    with torch.no_grad():
        K = kernel.double()(everything).to_dense().numpy()
    n = len(committee.y)
    inverse = np.linalg.inv(K[:n, :n] + noise * np.eye(n))
    cross = K[n:, :n]
    latent = K[n:, n:].diagonal() - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return np.stack([cross @ inverse @ committee.y.numpy(), latent, latent + NOISE])


@pytest.mark.parametrize("sizes", [[60], [20, 14, 15, 11], [3, 57]], ids=["one", "four", "two"])
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_the_exact_process(name: str, sizes: list[int]) -> None:
    committee = committee_with(KERNELS[name](), sizes)
    expected = exact(KERNELS[name](), committee, X_TEST)
    for rule in (
        Neighbourhood(),
        Neighbourhood(n_rows=60, leaf_size=4, communication=9, blend=0.1),
        Neighbourhood(999),
    ):
        found = moments(predicted(committee, rule, X_TEST, calibrated=False))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_calibration_leaves_the_mean_and_its_scale_is_that_of_rows_left_out() -> None:
    committee = committee_with(KERNELS["squared exponential"](), [20, 25])
    plain = moments(predicted(committee, Neighbourhood(), X_TEST, calibrated=False))
    scaled = moments(predicted(committee, Neighbourhood(), X_TEST))
    np.testing.assert_array_equal(scaled[0], plain[0])
    ratio = scaled[2] / plain[2]
    np.testing.assert_allclose(scaled[1] / plain[1], ratio, rtol=1e-12)
    squares, x = [], committee.X.numpy()
    for j in range(45):
        others = np.delete(np.arange(45), j)
        rest = replace(committee, X=committee.X[others], y=committee.y[others], offsets=np.array([0, 44]))
        [[mean], _, [noisy]] = exact(KERNELS["squared exponential"](), rest, x[j : j + 1])
        squares.append((float(committee.y[j]) - mean) ** 2 / noisy)
    wider = np.log(np.mean(squares)) * 45 / (45 + PRIOR_ROWS)
    for i, point in enumerate(X_TEST):
        far = np.linalg.norm((x - point) / [0.5, 2.0], axis=1)
        weights = 1 - (far / far.max() / (1 + 1e-6)) ** 2
        count = weights.sum() ** 2 / (weights**2).sum()
        mean = weights @ squares / weights.sum()
        local = np.log((count * mean + SURPRISES * np.exp(wider)) / (count + SURPRISES))
        expected = np.exp((count * local + PRIOR_ROWS * wider) / (count + PRIOR_ROWS))
        assert ratio[i] == pytest.approx(expected, rel=1e-7)


def test_own_variances_of_one_expert_are_the_process_with_the_noise_of_every_row() -> None:
    plain = committee_of(GP, random_blocks([12, 20, 15], 2, seed=1))
    own = OwnVariances(np.ones(3), np.array([1.0, 4.0, 0.25]))
    found = moments(predicted(replace(plain, own=own), Neighbourhood(), X_TEST, calibrated=False))
    of_rows = np.repeat([1.0, 4.0, 0.25], [12, 20, 15])
    # Rows of the communication set have the noise of the expert around them.
    far = np.linalg.norm((plain.X[:12, None] - plain.X[None, 12:]).numpy() / GP.lengthscale, axis=2)
    of_rows[:12] = of_rows[12:][far.argmin(axis=1)]
    kernel = plain.kernel.with_parameters(plain.hyperparameters.kernel)
    expected = exact(kernel, plain, X_TEST, NOISE * of_rows)
    np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("calibrated", [False, True])
def test_it_does_not_depend_on_how_the_same_rows_are_divided(calibrated: bool) -> None:
    one = committee_with(KERNELS["matern32"](), [60])
    expected = moments(predicted(one, Neighbourhood(), X_TEST, calibrated=calibrated))
    for offsets in ([0, 20, 60], [0, 5, 12, 40, 60]):
        many = replace(one, offsets=np.array(offsets))
        found = moments(predicted(many, Neighbourhood(), X_TEST, calibrated=calibrated))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
