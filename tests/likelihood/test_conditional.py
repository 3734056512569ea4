from __future__ import annotations

import numpy as np
import pytest
import torch

from committees import random_blocks, theta_of
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.likelihood import (
    communication_gradient,
    condition_on,
    conditional_term,
    conditional_value,
    own_derivative,
    value_and_gradient,
)
from gpcommittee.scratch import Scratch
from naive import NaiveGP

GP = NaiveGP(np.array([0.7, 2.0]), 1.3, 1e-2)
BLOCKS = random_blocks([30, 12, 31, 1], 2, seed=3)
TENSORS = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in BLOCKS]
KERNEL = KernelFunction(make_kernel("squared_exponential", 2))


@pytest.mark.parametrize("expert", [1, 2, 3])
def test_value_is_the_joint_density_over_the_communication_sets(expert: int) -> None:
    (X_c, y_c), (X, y) = BLOCKS[0], BLOCKS[expert]
    given = condition_on(KERNEL, theta_of(GP), *TENSORS[0])
    joint = GP.nlml(np.vstack([X_c, X]), np.append(y_c, y))
    assert given.value == pytest.approx(GP.nlml(X_c, y_c), rel=1e-10)
    assert conditional_value(given, *TENSORS[expert]) == pytest.approx(joint - GP.nlml(X_c, y_c), rel=1e-9)
    assert conditional_term(given, *TENSORS[expert]).value == conditional_value(given, *TENSORS[expert])


def test_alone_the_communication_expert_has_its_marginal_gradient() -> None:
    given = condition_on(KERNEL, theta_of(GP), *TENSORS[0])
    value, gradient = value_and_gradient(KERNEL, theta_of(GP), *TENSORS[0])
    assert given.value == value
    np.testing.assert_allclose(communication_gradient(given, own_derivative(given)), gradient, rtol=1e-9)


def test_derivative_by_the_communication_covariance() -> None:
    """Against automatic differentiation of the dense conditional density, in the coordinates of the factor."""
    theta, (X_c, y_c), (X, y) = KERNEL.tensor(theta_of(GP)), TENSORS[0], TENSORS[1]
    noise = theta[-1].exp()
    cross = KERNEL.covariance(theta[:-1], X, X_c)
    communication = KERNEL.covariance(theta[:-1], X_c, X_c) + noise * torch.eye(30, dtype=torch.float64)
    communication.requires_grad_()
    gain = cross @ torch.linalg.inv(communication)
    own = KERNEL.covariance(theta[:-1], X, X) + noise * torch.eye(12, dtype=torch.float64)
    density = torch.distributions.MultivariateNormal(gain @ y_c, own - gain @ cross.mT).log_prob(y)
    (by_covariance,) = torch.autograd.grad(-density, communication)
    given = condition_on(KERNEL, theta_of(GP), X_c, y_c)
    expected = 2 * given.lower.mT @ by_covariance @ given.lower
    got = conditional_term(given, X, y).by_communication
    torch.testing.assert_close(got.tril(), (0.5 * (expected + expected.mT)).tril(), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_memory_used_again_does_not_change_the_numbers(name: str) -> None:
    kernel, scratch = KernelFunction(make_kernel(name, 2)), Scratch()
    given = condition_on(kernel, np.append(kernel.start, np.log(0.1)), *TENSORS[0])
    terms = [conditional_term(given, *block, scratch) for block in TENSORS[1:]]
    for term, block in zip(terms, TENSORS[1:], strict=True):
        fresh = conditional_term(given, *block)
        assert term.value == fresh.value
        np.testing.assert_array_equal(term.gradient, fresh.gradient)
        assert torch.equal(term.by_communication.tril(), fresh.by_communication.tril())


def test_inputs_are_unchanged() -> None:
    copies = [(X.clone(), y.clone()) for X, y in TENSORS]
    given = condition_on(KERNEL, theta_of(GP), *TENSORS[0])
    lower = given.lower.clone()
    conditional_term(given, *TENSORS[1])
    assert torch.equal(given.lower, lower)
    for (X, y), (X_copy, y_copy) in zip(TENSORS, copies, strict=True):
        assert torch.equal(X, X_copy)
        assert torch.equal(y, y_copy)


def test_factors_that_fail_raise() -> None:
    broken = torch.full((3, 2), torch.nan, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    with pytest.raises(NotPositiveDefiniteError, match="communication set"):
        condition_on(KERNEL, theta_of(GP), *broken)
    with pytest.raises(NotPositiveDefiniteError, match="residual"):
        conditional_value(condition_on(KERNEL, theta_of(GP), *TENSORS[0]), *broken)
