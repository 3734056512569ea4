from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from torch import Tensor

from committees import random_blocks
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.likelihood import value_and_gradient, values_and_gradient
from gpcommittee.scratch import Scratch


class Plain(RBFKernel):
    """A kernel from elsewhere that knows one set of inputs at a time."""

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Any:  # type: ignore[override]
        assert x1.ndim == 2
        return super().forward(x1, x2, diag=diag, **params)  # type: ignore[no-untyped-call]


OTHERS = {
    "softplus": ScaleKernel(MaternKernel(nu=2.5)),
    "sum of products": ScaleKernel(RBFKernel(ard_num_dims=3))
    + ScaleKernel(PeriodicKernel(active_dims=(1,))) * LinearKernel(),
    "from elsewhere": ScaleKernel(Plain()),
}


def blocks_on(device: torch.device, sizes: list[int]) -> list[tuple[Tensor, Tensor]]:
    return [(torch.from_numpy(X).to(device), torch.from_numpy(y).to(device)) for X, y in random_blocks(sizes, 3, 1)]


@pytest.mark.parametrize("sizes", [[12, 12], [30, 28, 30, 29, 27]], ids=["equal", "filled up"])
@pytest.mark.parametrize(
    "kernel", [*(make_kernel(name, 3) for name in KERNELS), *OTHERS.values()], ids=[*KERNELS, *OTHERS]
)
def test_a_batch_equals_its_experts_one_by_one(kernel: Kernel, sizes: list[int], device: torch.device) -> None:
    function = KernelFunction(kernel, device=device)
    theta, blocks = np.append(function.start + 0.2, np.log(0.05)), blocks_on(device, sizes)
    scratch = Scratch()
    values_and_gradient(function, theta, blocks_on(device, [31, 31]), scratch)
    values, gradient = values_and_gradient(function, theta, blocks, scratch)
    alone = [value_and_gradient(function, theta, *block) for block in blocks]
    np.testing.assert_allclose(values, [value for value, _ in alone], rtol=1e-11)
    expected = sum(of_expert for _, of_expert in alone)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_an_expert_that_cannot_be_factored_is_taken_out(device: torch.device) -> None:
    function = KernelFunction(make_kernel("matern12", 3), device=device)
    theta, blocks = np.append(function.start, np.log(1e-20)), blocks_on(device, [20, 19, 20])
    X, y = blocks[1]
    repeated = X[:1].expand(19, 3)
    values, gradient = values_and_gradient(function, theta, [blocks[0], (repeated, y), blocks[2]])
    sound, of_sound = values_and_gradient(function, theta, [blocks[0], blocks[2]])
    np.testing.assert_array_equal(values, [sound[0], np.nan, sound[1]])
    np.testing.assert_array_equal(gradient, of_sound)
    none, zero = values_and_gradient(function, theta, [(repeated, y), (repeated, y)])
    assert np.isnan(none).all()
    assert (zero == 0).all()
