from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, LinearKernel, PeriodicKernel, RBFKernel, RQKernel, ScaleKernel

from committees import random_blocks
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.records import FloatArray
from gpcommittee.training import ConditionalObjective, FactorisedObjective
from gpcommittee.training.objective import Block


def frozen_scale() -> Kernel:
    kernel = ScaleKernel(RBFKernel(ard_num_dims=3)).initialize(outputscale=2.5)
    kernel.raw_outputscale.requires_grad_(False)
    return kernel


MAKERS: dict[str, Callable[[], Kernel]] = {
    **{name: lambda name=name: make_kernel(name, 3) for name in KERNELS},  # type: ignore[misc]
    "one lengthscale": lambda: ScaleKernel(RQKernel()),
    "frozen scale": frozen_scale,
    "custom": lambda: ScaleKernel(RBFKernel(ard_num_dims=3)) + ScaleKernel(PeriodicKernel(active_dims=(1,))),
    "product": lambda: ScaleKernel(RBFKernel(active_dims=(0, 2))) * ScaleKernel(LinearKernel()) + RBFKernel(),
}
each_kernel = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def blocks(*sizes: int, seed: int = 0) -> list[Block]:
    return [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in random_blocks(sizes, 3, seed)]


def start_of(kernel: KernelFunction, noise: float = 0.05) -> FloatArray:
    theta: FloatArray = np.append(kernel.start + np.linspace(-0.2, 0.3, len(kernel.start)), np.log(noise))
    return theta


def by_autograd(kernel: KernelFunction, experts: list[Block], theta: FloatArray) -> tuple[float, FloatArray]:
    """log p(y_i | y_c) by dense inverses that share nothing with the library but GPyTorch's kernel."""
    point = torch.from_numpy(theta).requires_grad_()

    def covariance(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        same = kernel.covariance(point[:-1], x1, x2)
        return same + point[-1].exp() * torch.eye(len(x1), dtype=torch.float64) if x1 is x2 else same

    def negative_log_density(y: torch.Tensor, mean: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        log_density: torch.Tensor = torch.distributions.MultivariateNormal(mean, matrix).log_prob(y)
        return -log_density

    (X_c, y_c), *others = experts
    inverse = torch.linalg.inv(covariance(X_c, X_c))
    total = negative_log_density(y_c, torch.zeros_like(y_c), covariance(X_c, X_c))
    for X, y in others:
        gain = covariance(X, X_c) @ inverse
        total = total + negative_log_density(y, gain @ y_c, covariance(X, X) - gain @ covariance(X_c, X))
    return total.item(), torch.autograd.grad(total, point)[0].numpy()


@each_kernel
def test_two_sets_have_the_marginal_likelihood_of_their_union(make: Callable[[], Kernel]) -> None:
    kernel, experts = KernelFunction(make()), blocks(40, 25)
    union = torch.cat([X for X, _ in experts]), torch.cat([y for _, y in experts])
    value, gradient = ConditionalObjective(kernel, experts, SerialEngine())(start_of(kernel))
    expected, by_parameters = FactorisedObjective(kernel, [union], SerialEngine())(start_of(kernel))
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, by_parameters, rtol=1e-8, atol=1e-8 * np.abs(by_parameters).max())


@each_kernel
def test_value_and_gradient_are_those_of_automatic_differentiation(make: Callable[[], Kernel]) -> None:
    kernel, experts = KernelFunction(make()), blocks(15, 20, 1, 12)
    value, gradient = ConditionalObjective(kernel, experts, SerialEngine())(start_of(kernel))
    expected, by_parameters = by_autograd(kernel, experts, start_of(kernel))
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, by_parameters, rtol=1e-5, atol=1e-6 * np.abs(by_parameters).max())


@each_kernel
def test_gradient_agrees_with_central_differences(make: Callable[[], Kernel]) -> None:
    kernel, step = KernelFunction(make()), 1e-5
    objective = ConditionalObjective(kernel, blocks(15, 20, 12), SerialEngine(), weight=2.5)
    theta = start_of(kernel)
    _, gradient = objective(theta)
    for i, shift in enumerate(step * np.eye(len(theta))):
        slope = (objective(theta + shift)[0] - objective(theta - shift)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("n_workers", [2, 5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_numbers_do_not_depend_on_threads(n_workers: int, dtype: torch.dtype) -> None:
    kernel = KernelFunction(make_kernel("matern52", 3), dtype)
    experts = [(X.to(dtype), y.to(dtype)) for X, y in blocks(60, 50, 30, 50, 1, 45, 50, 33)]
    serial = ConditionalObjective(kernel, experts, SerialEngine())(start_of(kernel))
    threads = ConditionalObjective(kernel, experts, ThreadEngine(n_workers))(start_of(kernel))
    assert threads[0] == serial[0]
    np.testing.assert_array_equal(threads[1], serial[1])


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_single_precision_is_near_double(name: str) -> None:
    double, single = (KernelFunction(make_kernel(name, 3), dtype) for dtype in (torch.float64, torch.float32))
    experts = blocks(40, 30, 35)
    theta = start_of(double)
    value, gradient = ConditionalObjective(single, [(X.float(), y.float()) for X, y in experts], SerialEngine())(theta)
    expected, by_parameters = ConditionalObjective(double, experts, SerialEngine())(theta)
    assert value == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(gradient, by_parameters, rtol=1e-2, atol=1e-3 * np.abs(by_parameters).max())


def nearly_singular(which: int) -> list[Block]:
    """Rows so close in one expert that float32 cannot factor its covariance, or its residual one."""
    experts = blocks(30, 30, 30, seed=1)
    X, y = experts[which]
    experts[which] = torch.cat([X, X[:5] + 1e-5]), torch.cat([y, y[:5]])
    return [(X.float(), y.float()) for X, y in experts]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["communication", "first", "last"])
@pytest.mark.parametrize("n_workers", [1, 3])
def test_what_single_precision_cannot_factor_is_computed_in_double(which: int, n_workers: int) -> None:
    double, single = (
        KernelFunction(make_kernel("squared_exponential", 3), dtype) for dtype in (torch.float64, torch.float32)
    )
    experts, theta = nearly_singular(which), start_of(double, noise=1e-5)
    objective = ConditionalObjective(
        single, experts, SerialEngine() if n_workers == 1 else ThreadEngine(n_workers), weight=1.5
    )
    in_double = [(X.double(), y.double()) for X, y in experts]
    expected, by_parameters = ConditionalObjective(double, in_double, SerialEngine(), weight=1.5)(theta)
    value, gradient = objective(theta)
    assert value == pytest.approx(expected, rel=2e-2)
    np.testing.assert_allclose(gradient, by_parameters, rtol=0.1, atol=0.02 * np.abs(by_parameters).max())
    np.testing.assert_array_equal(objective(theta)[1], gradient)


def test_a_covariance_that_cannot_be_factored_is_an_error() -> None:
    kernel, experts = KernelFunction(make_kernel("squared_exponential", 3)), blocks(10, 10)
    experts[1][0][3, 0] = np.nan
    objective = ConditionalObjective(kernel, experts, SerialEngine())
    with pytest.raises(NotPositiveDefiniteError, match="residual covariance of an expert"):
        objective(start_of(kernel))
    experts[0][0][3, 0] = np.nan
    for evaluate in (objective, objective.terms):
        with pytest.raises(NotPositiveDefiniteError, match="communication set"):
            evaluate(start_of(kernel))
