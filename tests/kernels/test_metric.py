from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.kernels import ConstantKernel, Kernel, LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel

from gpcommittee.kernels import KernelFunction, input_scales, make_kernel
from gpcommittee.kernels.named import KERNELS
from gpcommittee.records import FloatArray

X = np.random.default_rng(0).normal(size=(400, 3))
LENGTHSCALES = [0.3, 2.0, 40.0]


def scales(kernel: Kernel, dtype: torch.dtype = torch.float64) -> FloatArray | None:
    function = KernelFunction(kernel, dtype)
    return input_scales(function, function.start, X)


def ratios(kernel: Kernel, dtype: torch.dtype = torch.float64) -> FloatArray:
    found = scales(kernel, dtype)
    assert found is not None
    relative: FloatArray = found / found[0]
    return relative


def rbf(dimension: int, lengthscale: float, variance: float = 1.0) -> Kernel:
    scaled = ScaleKernel(RBFKernel(active_dims=(dimension,))).double()
    return scaled.initialize(**{"outputscale": variance, "base_kernel.lengthscale": lengthscale})


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize(("dtype", "rounding"), [(torch.float64, 1e-7), (torch.float32, 1e-5)])
def test_lengthscales_of_a_kernel_by_name(name: str, dtype: torch.dtype, rounding: float) -> None:
    kernel = make_kernel(name, 3).initialize(**{"base_kernel.lengthscale": [LENGTHSCALES], "outputscale": 7.0})
    np.testing.assert_allclose(ratios(kernel, dtype), np.array(LENGTHSCALES) / 0.3, rtol=rounding)


def test_the_parameters_given_count_not_the_kernels_own() -> None:
    function = KernelFunction(make_kernel("squared_exponential", 3))
    found = input_scales(function, np.log([1.0, *LENGTHSCALES]), X)
    assert found is not None
    np.testing.assert_allclose(found / found[0], np.array(LENGTHSCALES) / 0.3, rtol=1e-7)


def test_rows_of_a_committee_say_what_a_typical_row_is_as_arrays_do() -> None:
    function = KernelFunction(make_kernel("squared_exponential", 3))
    theta = np.log([1.0, *LENGTHSCALES])
    for rows in (X, X.astype(np.float32)):
        np.testing.assert_array_equal(
            input_scales(function, theta, torch.from_numpy(rows)), input_scales(function, theta, rows.astype(float))
        )


def test_a_product_of_kernels_of_single_inputs() -> None:
    kernel = rbf(0, 0.3) * rbf(1, 2.0) * rbf(2, 40.0)
    np.testing.assert_allclose(ratios(kernel), np.array(LENGTHSCALES) / 0.3, rtol=1e-7)


def test_a_sum_of_kernels_of_single_inputs_keeps_their_order() -> None:
    found = ratios(rbf(0, 0.3) + rbf(1, 2.0) + rbf(2, 4.0))
    np.testing.assert_allclose(found, [1.0, 2.0 / 0.3, 4.0 / 0.3], rtol=0.1)


def test_a_constant_or_long_term_changes_little() -> None:
    kernel = make_kernel("matern52", 3).initialize(**{"base_kernel.lengthscale": [LENGTHSCALES]})
    constant = ScaleKernel(ConstantKernel()).double().initialize(outputscale=5.0)
    long = make_kernel("squared_exponential", 3).initialize(**{"base_kernel.lengthscale": 1e3, "outputscale": 5.0})
    for term in (constant, long):
        np.testing.assert_allclose(ratios(kernel + term), ratios(kernel), rtol=1e-2)


def test_an_input_without_effect_has_a_large_but_finite_scale() -> None:
    found = scales(RBFKernel(ard_num_dims=2, active_dims=(0, 1)) * ScaleKernel(MaternKernel(active_dims=(0,))))
    assert found is not None
    assert found[2] == pytest.approx(1e6)
    assert found[0] < found[1] < 10


def test_a_periodic_kernel_has_its_first_fall() -> None:
    periodic = PeriodicKernel(active_dims=(0,))
    found = scales((periodic * RBFKernel(active_dims=(1, 2))).double())
    assert found is not None
    assert found[0] < 0.5 * periodic.period_length.item()
    assert found[1] == pytest.approx(found[2])


@pytest.mark.parametrize(
    "kernel",
    [
        LinearKernel(),
        ConstantKernel(),
        RBFKernel(),
        ScaleKernel(MaternKernel(nu=0.5)),
        RBFKernel().initialize(lengthscale=1e9),
    ],
    ids=["linear", "constant", "isotropic", "scaled", "flat"],
)
def test_kernels_without_a_metric_of_their_own(kernel: Kernel) -> None:
    assert scales(kernel) is None


def test_a_linear_term_beside_others_is_no_obstacle() -> None:
    found = scales(rbf(0, 0.3) + rbf(1, 2.0) + LinearKernel(active_dims=(2,)))
    assert found is not None
    assert np.isfinite(found).all()
    assert found[0] < found[1]
