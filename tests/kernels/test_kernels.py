from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.constraints import GreaterThan, Interval, LessThan
from gpytorch.kernels import (
    Kernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    PiecewisePolynomialKernel,
    PolynomialKernel,
    RBFKernel,
    ScaleKernel,
)
from gpytorch.priors import GammaPrior, NormalPrior
from scipy.spatial.distance import cdist

from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel

X1 = torch.from_numpy(np.random.default_rng(0).standard_normal((7, 3)))
X2 = torch.from_numpy(np.random.default_rng(1).standard_normal((5, 3)))
LENGTHSCALES = np.array([0.5, 1.5, 3.0])
FORMULAS = {
    "squared_exponential": lambda r: np.exp(-0.5 * r**2),
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 / 3 * r**2) * np.exp(-np.sqrt(5) * r),
    "rational_quadratic": lambda r: 1 / (1 + r**2 / 2),
}


def sum_kernel() -> Kernel:
    return ScaleKernel(RBFKernel(ard_num_dims=3)) + ScaleKernel(PeriodicKernel(active_dims=(0,))) * LinearKernel()


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_named_kernels_are_their_formulas(name: str) -> None:
    kernel = make_kernel(name, 3)
    kernel.initialize(**{"outputscale": 2.0, "base_kernel.lengthscale": torch.from_numpy(LENGTHSCALES)})
    function = KernelFunction(kernel)
    got = function.covariance(function.tensor(function.start), X1, X2)
    distances = cdist(X1.numpy() / LENGTHSCALES, X2.numpy() / LENGTHSCALES)
    np.testing.assert_allclose(got, 2.0 * FORMULAS[name](distances), rtol=1e-12)
    np.testing.assert_allclose(function.variance(function.tensor(function.start), X1), 2.0, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_named_kernels_start_at_one(name: str) -> None:
    function = KernelFunction(make_kernel(name, 2))
    assert all(
        np.all(value == 1.0) for key, value in function.natural_values(function.start).items() if "alpha" not in key
    )


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidParameterError, match=r"'rbf'.*matern12.*squared_exponential"):
        make_kernel("rbf", 2)


@pytest.mark.parametrize("make", [sum_kernel, lambda: ScaleKernel(MaternKernel(nu=2.5)), RBFKernel])
def test_covariance_equals_the_module_with_those_parameters(make: type[Kernel]) -> None:
    kernel = make().double()
    function = KernelFunction(kernel)
    theta = function.start + np.linspace(-0.5, 0.5, len(function.start))
    changed = function.with_parameters(theta)
    expected = changed(X1, X2).to_dense()
    got = function.covariance(function.tensor(theta), X1, X2)
    torch.testing.assert_close(got, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(KernelFunction(changed).start, theta)


def test_the_kernel_given_is_copied_and_never_changed() -> None:
    kernel = ScaleKernel(RBFKernel())
    before = deepcopy(kernel.state_dict())
    function = KernelFunction(kernel)
    function.covariance(function.tensor(function.start + 1), X1, X2)
    function.with_parameters(function.start + 1)
    assert all(torch.equal(value, kernel.state_dict()[name]) for name, value in before.items())


def test_gradient_agrees_with_finite_differences() -> None:
    function = KernelFunction(sum_kernel())
    theta = function.tensor(function.start).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: function.covariance(t, X1, X2), (theta,), fast_mode=True)


def test_frozen_parameters_are_left_out() -> None:
    kernel = ScaleKernel(RBFKernel())
    kernel.raw_outputscale.requires_grad_(False)
    function = KernelFunction(kernel)
    assert [parameter.name for parameter in function.parameters] == ["base_kernel.raw_lengthscale"]
    assert function.covariance(function.tensor(function.start), X1, X2).shape == (7, 5)


@pytest.mark.parametrize(
    ("constraint", "low", "high"),
    [
        (GreaterThan(0.5), 0.5 + 1e-5, 0.5 + 1e5),
        (Interval(1.0, 3.0), 1.0 + 2e-6, 3.0 - 2e-6),
        (Interval(1e-5, 1e6), 2e-5, 1e6),
        (LessThan(-1.0), -1.0 - 1e5, -1.0 - 1e-5),
    ],
)
def test_search_bounds_respect_the_constraint(constraint: Interval, low: float, high: float) -> None:
    kernel = RBFKernel()
    kernel.register_constraint("raw_lengthscale", constraint)
    kernel = kernel.double()
    parameter = KernelFunction(kernel).parameters[0]
    bounds = torch.from_numpy(np.concatenate([parameter.lower, parameter.upper]))
    natural = sorted(constraint.double().transform(bounds).tolist())
    np.testing.assert_allclose(natural, [low, high], rtol=1e-5)


def test_log_prior_is_the_sum_of_the_priors_and_differentiable() -> None:
    kernel = ScaleKernel(RBFKernel(lengthscale_prior=GammaPrior(2.0, 3.0)), outputscale_prior=NormalPrior(1.0, 2.0))
    function = KernelFunction(kernel)
    theta = function.tensor(function.start).requires_grad_()
    natural = function.natural_values(function.start)
    expected = GammaPrior(2.0, 3.0).log_prob(torch.tensor(natural["base_kernel.lengthscale"])).sum()
    expected = expected + NormalPrior(1.0, 2.0).log_prob(torch.tensor(natural["outputscale"]))
    got = function.log_prior(theta)
    torch.testing.assert_close(got.detach(), expected, rtol=1e-6, atol=0)
    assert torch.autograd.grad(got, theta)[0].abs().min() > 0


def test_kernel_without_priors_has_log_prior_zero() -> None:
    function = KernelFunction(RBFKernel())
    assert function.log_prior(function.tensor(function.start)) == 0


def test_threads_do_not_disturb_each_other_or_the_global_setting() -> None:
    function = KernelFunction(make_kernel("squared_exponential", 3))
    thetas = [function.tensor(function.start + shift) for shift in np.linspace(-1, 1, 40)]
    expected = [function.covariance(theta, X1, X2) for theta in thetas]
    before = gpytorch.settings.lazily_evaluate_kernels.on()
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda theta: function.covariance(theta, X1, X2), thetas))
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
    assert gpytorch.settings.lazily_evaluate_kernels.on() == before


def test_pickles_with_the_same_numbers() -> None:
    function = KernelFunction(sum_kernel())
    theta = function.tensor(function.start)
    copy = pickle.loads(pickle.dumps(function))
    assert torch.equal(copy.covariance(theta, X1, X2), function.covariance(theta, X1, X2))


@pytest.mark.parametrize(
    "kernel",
    [
        ScaleKernel(RBFKernel(), active_dims=(0,)),
        ScaleKernel(RBFKernel(active_dims=(1,))),
        ScaleKernel(ScaleKernel(RBFKernel(active_dims=(1,)))) + RBFKernel(active_dims=(0, 2)),
    ],
)
def test_active_dims_select_as_gpytorch_does(kernel: Kernel) -> None:
    function = KernelFunction(kernel)
    expected = deepcopy(kernel).double()(X1, X2).to_dense()
    torch.testing.assert_close(function.covariance(function.tensor(function.start), X1, X2), expected)


def test_bounds_are_those_of_each_element() -> None:
    kernel = RBFKernel(ard_num_dims=3)
    constraint = Interval(torch.tensor([0.1, 0.2, 1e-5]), torch.tensor([5.0, 50.0, 1e6]))
    kernel.register_constraint("raw_lengthscale", constraint)
    [parameter] = KernelFunction(kernel).parameters
    lower, upper = (constraint.double().transform(torch.from_numpy(raw)) for raw in (parameter.lower, parameter.upper))
    np.testing.assert_allclose(lower, [0.1, 0.2, 2e-5], rtol=1e-3)
    np.testing.assert_allclose(upper, [5.0, 50.0, 1e6], rtol=1e-3)


def with_prior(prior: Any) -> Kernel:
    return RBFKernel(lengthscale_prior=prior)


def frozen_at(value: float) -> Kernel:
    kernel = RBFKernel().initialize(lengthscale=value)
    kernel.raw_lengthscale.requires_grad_(False)
    return kernel


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (MaternKernel(nu=0.5), MaternKernel(nu=2.5)),
        (RBFKernel(active_dims=(0,)), RBFKernel(active_dims=(1,))),
        (PolynomialKernel(power=2), PolynomialKernel(power=3)),
        (PiecewisePolynomialKernel(q=1), PiecewisePolynomialKernel(q=2)),
        (with_prior(GammaPrior(2.0, 1.0)), with_prior(GammaPrior(50.0, 1.0))),
        (frozen_at(1.0), frozen_at(2.0)),
        (frozen_at(1.0), RBFKernel().initialize(lengthscale=1.0)),
        (RBFKernel() + LinearKernel(), RBFKernel() * LinearKernel()),
    ],
)
def test_different_kernels_have_different_identities(first: Kernel, second: Kernel) -> None:
    assert KernelFunction(first).identity != KernelFunction(second).identity
    assert KernelFunction(first).identity == KernelFunction(deepcopy(first)).identity


@pytest.mark.parametrize("n", [4, 300])
def test_sums_with_a_linear_kernel_are_dense_sums_without_a_warning(n: int) -> None:
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((n, 3)))
    terms = [ScaleKernel(RBFKernel(active_dims=(0, 2))).double(), ScaleKernel(LinearKernel()).double()]
    function = KernelFunction(terms[0] + terms[1])
    expected = terms[0](x, x).to_dense() + terms[1](x, x).to_dense()
    theta = function.tensor(function.start)
    torch.testing.assert_close(function.covariance(theta, x, x), expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(function.variance(theta, x), expected.diagonal(), rtol=1e-12, atol=1e-12)


def test_noisy_covariance_has_the_exact_prior_variance_on_its_diagonal() -> None:
    function = KernelFunction(make_kernel("matern12", 3))
    got = function.at(function.start).noisy_covariance(1e3 + X1, 1e-8)
    assert torch.equal(got.diagonal(), torch.full((7,), 1 + 1e-8, dtype=torch.float64))


class FromElsewhere(RBFKernel):
    """Knows one set of inputs at a time."""

    def forward(  # type: ignore[override]
        self, x1: torch.Tensor, x2: torch.Tensor, diag: bool = False, **params: Any
    ) -> Any:
        assert x1.ndim == x2.ndim == 2
        return super().forward(x1, x2, diag=diag, **params)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "kernel",
    [
        make_kernel("matern32", 3),
        sum_kernel(),
        LinearKernel(),
        PolynomialKernel(power=2),
        PiecewisePolynomialKernel(q=2),
        ScaleKernel(FromElsewhere()),
    ],
    ids=["matern32", "sum", "linear", "polynomial", "piecewise polynomial", "from elsewhere"],
)
def test_a_batch_of_inputs_is_each_of_them(kernel: Kernel) -> None:
    function = KernelFunction(kernel)
    theta, batch = function.tensor(function.start), torch.stack([X1, X1.flip(0), 2 * X1])
    fixed = function.at(function.start)
    together = function.covariance(theta, batch, X2).detach(), fixed.covariance(batch, X2), fixed.covariance(X2, batch)
    variances = fixed.variance(batch)
    for i, one in enumerate(batch):
        expected = function.covariance(theta, one, X2).detach()
        for found, transposed in zip(together, [False, False, True], strict=True):
            torch.testing.assert_close(found[i].mT if transposed else found[i], expected, rtol=1e-11, atol=1e-13)
        torch.testing.assert_close(variances[i], fixed.variance(one), rtol=1e-12, atol=1e-14)
