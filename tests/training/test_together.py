from __future__ import annotations

import numpy as np
import pytest
import torch

from committees import random_blocks, theta_of
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.training import FactorisedObjective
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
SIZES = [25, *(20 + i % 4 for i in range(9)), 7]


def objective(device: torch.device, memory: float, dtype: torch.dtype = torch.float64) -> FactorisedObjective:
    kernel = KernelFunction(make_kernel("squared_exponential", 2), dtype, device)
    blocks = [(kernel.tensor(X), kernel.tensor(y)) for X, y in random_blocks(SIZES, 2, seed=0)]
    return FactorisedObjective(kernel, blocks, SerialEngine(memory))


@pytest.mark.parametrize("memory", [1.0, 3e5, 1e9], ids=["one by one", "a few", "all"])
def test_batches_give_the_numbers_of_experts_one_by_one(memory: float, device: torch.device) -> None:
    alone, together = objective(torch.device("cpu"), 0.0), objective(device, memory)
    value, gradient = alone(theta_of(GP))
    found, found_gradient = together(theta_of(GP))
    assert found == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found_gradient, gradient, rtol=1e-10)
    np.testing.assert_allclose(together.terms(theta_of(GP)), alone.terms(theta_of(GP)), rtol=1e-11)


def with_repeated_row(made: FactorisedObjective, expert: int) -> FactorisedObjective:
    X, y = made.blocks[expert]
    blocks = [*made.blocks[:expert], (X[:1].expand(len(X), -1), y), *made.blocks[expert + 1 :]]
    return FactorisedObjective(made.kernel, blocks, made.engine)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_an_expert_that_fails_in_its_batch_is_evaluated_alone(dtype: torch.dtype, device: torch.device) -> None:
    noise = 1e-18 if dtype == torch.float64 else 1e-4
    theta = theta_of(NaiveGP(np.array([0.02, 0.02]), 1.0, noise))
    alone = with_repeated_row(objective(torch.device("cpu"), 0.0, dtype), 4)
    together = with_repeated_row(objective(device, 1e9, dtype), 4)
    tolerance = 1e-8 if dtype == torch.float64 else 1e-3
    np.testing.assert_allclose(together.terms(theta), alone.terms(theta), rtol=tolerance)
    np.testing.assert_allclose(together(theta)[1], alone(theta)[1], rtol=tolerance, atol=10 * tolerance)


def test_what_cannot_be_factored_at_all_is_an_error(device: torch.device) -> None:
    with pytest.raises(NotPositiveDefiniteError):
        objective(device, 1e9)(np.array([np.nan, 0.0, 0.0, 0.0]))
