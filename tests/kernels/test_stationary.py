from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, LinearKernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel

from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.kernels.stationary import recognise
from gpcommittee.scratch import Scratch

RECOGNISED: dict[str, Callable[[], Kernel]] = {
    **{name: lambda name=name: make_kernel(name, 3) for name in KERNELS},  # type: ignore[misc]
    "plain": lambda: RBFKernel(),
    "one lengthscale": lambda: ScaleKernel(MaternKernel(nu=1.5)),
    "softplus": lambda: ScaleKernel(RQKernel(ard_num_dims=3)),
}


def frozen_scale() -> Kernel:
    kernel = ScaleKernel(RBFKernel(ard_num_dims=3)).initialize(outputscale=2.5)
    kernel.raw_outputscale.requires_grad_(False)
    return kernel


def inputs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def moved(function: KernelFunction) -> torch.Tensor:
    return function.tensor(function.start + np.linspace(-0.4, 0.5, len(function.start)))


@pytest.mark.parametrize("make", [*RECOGNISED.values(), frozen_scale], ids=[*RECOGNISED, "frozen scale"])
def test_values_are_those_of_gpytorch(make: Callable[[], Kernel]) -> None:
    assert recognise(make().double()) is not None
    function = KernelFunction(make())
    theta = moved(function)
    x1, x2 = inputs(40, 3), inputs(30, 3, seed=1)
    expected = function.with_parameters(theta.numpy())(x1, x2).to_dense().detach()
    fixed = function.at(theta.numpy())
    torch.testing.assert_close(fixed.covariance(x1, x2), expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(fixed.variance(x1), function.variance(theta, x1), rtol=1e-14, atol=0)


@pytest.mark.parametrize("make", [*RECOGNISED.values(), frozen_scale], ids=[*RECOGNISED, "frozen scale"])
@pytest.mark.parametrize("shape", [(25, 3), (2, 25, 3)])
def test_pullback_is_the_derivative_through_gpytorch(make: Callable[[], Kernel], shape: tuple[int, ...]) -> None:
    function, x = KernelFunction(make()), inputs(*shape)
    theta = torch.cat([moved(function), torch.tensor([-1.0], dtype=torch.float64)])
    derivative = inputs(*shape[:-1], shape[-2], seed=2)
    derivative = derivative + derivative.mT
    point = theta.clone().requires_grad_()
    distinct = ~torch.eye(shape[-2], dtype=torch.bool)
    covariance = function.covariance(point[:-1], x, x) * distinct
    diagonal = function.variance(point[:-1], x) + point[-1].exp()
    expected = (covariance * derivative).sum() + (diagonal * derivative.diagonal(dim1=-2, dim2=-1)).sum()
    got, pullback = function.noisy_covariance_with_pullback(theta, x, Scratch())
    torch.testing.assert_close(got, (covariance + torch.diag_embed(diagonal)).detach(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(pullback(derivative), torch.autograd.grad(expected, point)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [*RECOGNISED.values(), frozen_scale], ids=[*RECOGNISED, "frozen scale"])
@pytest.mark.parametrize("shape", [(25, 3), (2, 25, 3)])
def test_pullback_of_a_cross_covariance_is_the_derivative_through_gpytorch(
    make: Callable[[], Kernel], shape: tuple[int, ...]
) -> None:
    function, x1, x2 = KernelFunction(make()), inputs(*shape), inputs(*shape[:-2], 17, 3, seed=1)
    theta, derivative = moved(function), inputs(*shape[:-1], 17, seed=2)
    point = theta.clone().requires_grad_()
    expected = function.covariance(point, x1, x2)
    got, pullback = function.covariance_with_pullback(theta, x1, x2, Scratch())
    torch.testing.assert_close(got, expected.detach(), rtol=1e-12, atol=1e-14)
    by_parameters = torch.autograd.grad((expected * derivative).sum(), point)[0]
    got.zero_()
    torch.testing.assert_close(pullback(derivative), by_parameters, rtol=1e-9, atol=1e-9)


def test_a_cross_covariance_without_learned_parameters_has_no_derivative() -> None:
    kernel = RBFKernel()
    kernel.raw_lengthscale.requires_grad_(False)
    for frozen in (kernel, kernel + kernel):
        function = KernelFunction(frozen)
        _, pullback = function.covariance_with_pullback(torch.empty(0), inputs(4, 2), inputs(3, 2), Scratch())
        assert pullback(inputs(4, 3)).shape == (0,)


def test_other_kernels_have_the_same_interface() -> None:
    function, x = KernelFunction(ScaleKernel(LinearKernel()) + RBFKernel()), inputs(8, 3)
    theta = torch.cat([moved(function), torch.tensor([-1.0], dtype=torch.float64)])
    covariance, pullback = function.noisy_covariance_with_pullback(theta, x, Scratch())
    expected = function.at(theta[:-1].numpy()).noisy_covariance(x, theta[-1].exp().item())
    torch.testing.assert_close(covariance, expected)
    assert pullback(torch.eye(8, dtype=torch.float64))[-1] == pytest.approx(8 * np.exp(-1.0), rel=1e-12)


def test_other_kernels_have_the_same_cross_covariance() -> None:
    function, x1, x2 = KernelFunction(ScaleKernel(LinearKernel()) + RBFKernel()), inputs(8, 3), inputs(5, 3, seed=1)
    theta, derivative = moved(function), inputs(8, 5, seed=2)
    covariance, pullback = function.covariance_with_pullback(theta, x1, x2, Scratch())
    point = theta.clone().requires_grad_()
    expected = function.covariance(point, x1, x2)
    torch.testing.assert_close(covariance, expected.detach())
    assert covariance.is_contiguous()
    covariance.zero_()
    by_parameters = torch.autograd.grad((expected * derivative).sum(), point)[0]
    torch.testing.assert_close(pullback(derivative), by_parameters, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        ScaleKernel(RBFKernel(active_dims=(0,))),
        ScaleKernel(ScaleKernel(RBFKernel())),
        ScaleKernel(RBFKernel()) + RBFKernel(),
        RBFKernel(batch_shape=torch.Size([2])),
        LinearKernel(),
    ],
)
def test_other_kernels_are_left_to_gpytorch(kernel: Kernel) -> None:
    assert recognise(kernel) is None


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_equal_rows_have_the_prior_variance_between_them(name: str) -> None:
    function = KernelFunction(make_kernel(name, 2))
    theta, x = function.tensor(function.start), torch.tensor([[0.3, 0.1], [0.3, 0.1]], dtype=torch.float64)
    covariance = function.at(function.start).covariance(x, x)
    torch.testing.assert_close(covariance, torch.ones_like(covariance), rtol=1e-7, atol=0)
    _, pullback = function.noisy_covariance_with_pullback(torch.cat([theta, theta[:1]]), x, Scratch())
    assert bool(torch.isfinite(pullback(torch.ones(2, 2, dtype=torch.float64))).all())


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_far_points_have_no_covariance(name: str) -> None:
    function = KernelFunction(make_kernel(name, 2))
    far = torch.full((1, 2), 1e120, dtype=torch.float64)
    covariance = function.at(function.start).covariance(far, inputs(3, 2))
    torch.testing.assert_close(covariance, torch.zeros_like(covariance))
