"""Negative log marginal likelihood of one expert and its gradient (Eq. 2 of the paper, one factor of the product).

Zero-mean GP on standardised data: NLL = y' A^-1 y / 2 + log det A / 2 + m log(2 pi) / 2 with A = K + s2 I.
Source of the gradient: Rasmussen and Williams (2006), Eq. 5.9, as d NLL / d A = (A^-1 - a a') / 2, a = A^-1 y.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gpcommittee.kernels import KernelFunction
from gpcommittee.linalg import cholesky, inverse_from_cholesky, solve_lower, solve_lower_transposed
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch


def negative_log_marginal(noisy_covariance: Tensor, y: Tensor, scratch: Scratch) -> tuple[Tensor, Tensor]:
    """Negative log density of ``y`` under N(0, A), and its derivative by A.

    One Cholesky factorisation and one inverse from it: half the cost of automatic differentiation through the
    factorisation.

    Parameters
    ----------
    noisy_covariance : Tensor, shape (m, m)
        A = K + s2 I.
    y : Tensor, shape (m,)
    scratch : Scratch
        Holds the derivative.

    Returns
    -------
    value : Tensor of one value
        In nats.
    by_covariance : Tensor, shape (m, m)
        (A^-1 - a a') / 2 with a = A^-1 y, symmetric.

    Raises
    ------
    NotPositiveDefiniteError
        If A cannot be factored.
    """
    factor, _ = cholesky(noisy_covariance, scratch=scratch)
    return from_factor(factor, y, len(y), scratch)


def from_factor(factor: Tensor, y: Tensor, n_rows: int | Tensor, scratch: Scratch) -> tuple[Tensor, Tensor]:
    """Negative log density and its derivative by A from the factor of A, of one expert or a batch.

    Parameters
    ----------
    factor : Tensor, shape (..., m, m)
        May be overwritten.
    y : Tensor, shape (..., m)
    n_rows : int or Tensor, shape (...)
        Rows that count.
    scratch : Scratch
        Holds the derivative.

    Returns
    -------
    value : Tensor, shape (...)
    by_covariance : Tensor, shape (..., m, m)
    """
    whitened = solve_lower(factor, y)
    a = solve_lower_transposed(factor, whitened)
    value = negative_log_density(factor, whitened, n_rows)
    inverse = inverse_from_cholesky(factor, scratch)
    by_covariance = inverse.addcmul_(a[..., :, None], a[..., None, :], value=-1.0).mul_(0.5)
    return value, by_covariance


def negative_log_density(factor: Tensor, whitened: Tensor, n_rows: int | Tensor) -> Tensor:
    """Negative log density under N(0, L L'), in nats, of one expert or a batch.

    Parameters
    ----------
    factor : Tensor, shape (..., m, m)
        L, lower triangular.
    whitened : Tensor, shape (..., m)
        L^-1 y.
    n_rows : int or Tensor, shape (...)
        Rows that count.

    Returns
    -------
    Tensor, shape (...)
    """
    half_log_determinant = factor.diagonal(dim1=-2, dim2=-1).log().sum(dim=-1)
    return 0.5 * whitened.square().sum(dim=-1) + half_log_determinant + n_rows * (0.5 * math.log(2 * math.pi))


def value_and_gradient(
    kernel: KernelFunction, theta: FloatArray, X: Tensor, y: Tensor, scratch: Scratch | None = None
) -> tuple[float, FloatArray]:
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
    scratch : Scratch, optional
        Memory to use again from one expert to the next.

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
    memory = scratch or Scratch()
    with torch.no_grad():
        noisy_covariance, pullback = kernel.noisy_covariance_with_pullback(kernel.tensor(theta), X, memory)
        value, by_covariance = negative_log_marginal(noisy_covariance, y, memory)
        gradient = pullback(by_covariance)
    return value.item(), gradient.double().cpu().numpy()
