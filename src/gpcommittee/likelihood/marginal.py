"""Negative log marginal likelihood of one expert and its gradient (Eq. 2 of the paper, one factor of the product).

Zero-mean GP on standardised data: NLL = y' A^-1 y / 2 + log det A / 2 + m log(2 pi) / 2 with A = K + s2 I.
Source of the gradient: Rasmussen and Williams (2006), Eq. 5.9, as d NLL / d A = (A^-1 - a a') / 2, a = A^-1 y.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from gpcommittee.kernels import KernelFunction
from gpcommittee.linalg import cholesky, solve_lower, solve_lower_transposed
from gpcommittee.records import FloatArray


class _NegativeLogMarginal(torch.autograd.Function):
    """One Cholesky forward, one inverse from it backward: half the cost of autograd through the factorisation."""

    @staticmethod
    def forward(ctx: Any, noisy_covariance: Tensor, y: Tensor) -> Tensor:
        factor, _ = cholesky(noisy_covariance)
        whitened = solve_lower(factor, y)
        ctx.save_for_backward(factor, solve_lower_transposed(factor, whitened))
        return 0.5 * whitened.square().sum() + factor.diagonal().log().sum() + 0.5 * len(y) * math.log(2 * math.pi)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor]:
        factor, a = ctx.saved_tensors
        by_covariance = torch.cholesky_inverse(factor).addr_(a, a, alpha=-1.0).mul_(0.5 * grad_outputs[0])
        return by_covariance, grad_outputs[0] * a


def negative_log_marginal(noisy_covariance: Tensor, y: Tensor) -> Tensor:
    """Negative log density of ``y`` under N(0, A), differentiable in both arguments.

    Parameters
    ----------
    noisy_covariance : Tensor, shape (m, m)
        A = K + s2 I.
    y : Tensor, shape (m,)

    Returns
    -------
    Tensor of one value
        In nats.

    Raises
    ------
    NotPositiveDefiniteError
        If A cannot be factored.
    """
    value: Tensor = _NegativeLogMarginal.apply(noisy_covariance, y)  # type: ignore[no-untyped-call]
    return value


def value_and_gradient(kernel: KernelFunction, theta: FloatArray, X: Tensor, y: Tensor) -> tuple[float, FloatArray]:
    """One expert's negative log marginal likelihood and its gradient.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray, shape (p + 1,)
        Unconstrained kernel parameters, then the log noise variance.
    X : Tensor, shape (m, d)
        Standardised inputs.
    y : Tensor, shape (m,)
        Standardised target.

    Returns
    -------
    value : float
        In nats.
    gradient : ndarray, shape (p + 1,)

    Raises
    ------
    NotPositiveDefiniteError
        If the noisy covariance cannot be factored at ``theta``.
    """
    with torch.enable_grad():
        point = kernel.tensor(theta).requires_grad_()
        value = negative_log_marginal(kernel.noisy_covariance(point[:-1], X, point[-1].exp()), y)
        (gradient,) = torch.autograd.grad(value, point)
    return value.item(), gradient.double().cpu().numpy()
