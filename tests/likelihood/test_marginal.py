from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from scipy.stats import multivariate_normal

from committees import random_blocks, theta_of
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.likelihood import negative_log_marginal, value_and_gradient
from gpcommittee.scratch import Scratch
from naive import NaiveGP


@pytest.mark.parametrize("m", [1, 2, 30])
@pytest.mark.parametrize("noise", [1e-3, 1.0])
def test_value_is_the_gaussian_log_density(m: int, noise: float) -> None:
    gp = NaiveGP(np.array([0.7, 2.0]), 1.3, noise)
    [(X, y)] = random_blocks([m], 2, seed=m)
    kernel = KernelFunction(make_kernel("squared_exponential", 2))
    value, _ = value_and_gradient(kernel, theta_of(gp), torch.from_numpy(X), torch.from_numpy(y))
    expected = -multivariate_normal(cov=gp.k(X, X) + noise * np.eye(m), allow_singular=True).logpdf(y)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        make_kernel("squared_exponential", 3),
        make_kernel("matern12", 3),
        make_kernel("matern32", 3),
        make_kernel("rational_quadratic", 3),
        ScaleKernel(MaternKernel(nu=2.5)),
        ScaleKernel(RBFKernel(ard_num_dims=3)) + ScaleKernel(PeriodicKernel(active_dims=(1,))) * LinearKernel(),
    ],
    ids=["se", "matern12", "matern32", "rq", "softplus", "sum-of-products"],
)
def test_gradient_agrees_with_central_differences(kernel: Kernel) -> None:
    function = KernelFunction(kernel)
    [(X, y)] = random_blocks([25], 3, seed=0)
    X_, y_ = torch.from_numpy(X), torch.from_numpy(y)
    theta = np.append(function.start + 0.1, np.log(0.05))
    _, gradient = value_and_gradient(function, theta, X_, y_)
    step = 1e-5
    for i in range(len(theta)):
        shift = step * np.eye(len(theta))[i]
        above, _ = value_and_gradient(function, theta + shift, X_, y_)
        below, _ = value_and_gradient(function, theta - shift, X_, y_)
        assert gradient[i] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-6)


def test_derivative_by_the_covariance() -> None:
    covariance = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.0, -2.0], dtype=torch.float64)
    density = torch.distributions.MultivariateNormal(torch.zeros(2, dtype=torch.float64), covariance)
    (expected,) = torch.autograd.grad(-density.log_prob(y), covariance)
    value, by_covariance = negative_log_marginal(covariance.detach(), y, Scratch())
    torch.testing.assert_close(value, -density.log_prob(y).detach())
    torch.testing.assert_close(by_covariance, (expected + expected.mT) / 2)


def test_factor_that_fails_raises() -> None:
    indefinite = torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)
    with pytest.raises(NotPositiveDefiniteError):
        negative_log_marginal(indefinite, torch.zeros(2, dtype=torch.float64), Scratch())


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_memory_used_again_does_not_change_the_numbers(name: str) -> None:
    function = KernelFunction(make_kernel(name, 2))
    theta, scratch = np.append(function.start, np.log(0.1)), Scratch()
    for X, y in random_blocks([30, 12, 31, 5], 2, seed=3):
        block = torch.from_numpy(X), torch.from_numpy(y)
        value, gradient = value_and_gradient(function, theta, *block, scratch)
        fresh_value, fresh_gradient = value_and_gradient(function, theta, *block)
        assert value == fresh_value
        np.testing.assert_array_equal(gradient, fresh_gradient)
