"""Negative log density of one expert's target given that of the communication set, and its gradient.

The factors of log p(y_c) + sum_i log p(y_i | y_c), which takes the experts for independent given the communication set:
the assumption that GRBCM makes (section 3.1 of the paper), where Eq. 2 takes them for independent. Zero-mean GPs on
standardised data; in the symbols of docs/notation.md

    A_c = L_c L_c', w_c = L_c^-1 y_c, B = L_c^-1 K_ci, S = A_i - B' B, r = y_i - B' w_c, term = -log N(r; 0, S).

With a = S^-1 r and v = B a - w_c the derivatives of a term are

    by A_i    (S^-1 - a a') / 2
    by K_ic   a (L_c^-T v)' - S^-1 B' L_c^-1
    by A_c    L_c^-T (B S^-1 B' - v v' + w_c w_c') L_c^-1 / 2,

and that of -log p(y_c) by A_c is L_c^-T (I - w_c w_c') L_c^-1 / 2. What is between L_c^-T and L_c^-1 is summed over
experts, so that the communication expert is gone back through once.

For m rows and a communication set of c, value and gradient of a term take 2 c^2 m flops in solves (B, and back),
13/4 c m^2 + 5/4 c^2 m in products (S 5/4 c m^2, S^-1 B' 2 c m^2, B S^-1 B' 5/4 c^2 m) and m^3 in the factor and the
inverse of S: with c = m it is 7.5 m^3, where a marginal term is m^3. The value alone takes c^2 m + 5/4 c m^2 + m^3 / 3.
Once per evaluation the communication expert takes c^3 / 3 and, for the gradient, 2 c^3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.kernels import KernelFunction
from gpcommittee.likelihood.marginal import negative_log_density
from gpcommittee.linalg import (
    cholesky,
    inverse_from_cholesky,
    lower_product,
    solve_lower,
    solve_lower_transposed,
    subtract_gram,
    unwhiten_rows,
    whiten_rows,
)
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class Conditioning:
    """The communication expert, factored at a point, on which the others are conditioned.

    Attributes
    ----------
    kernel : KernelFunction
        In whose precision all of it is.
    point : Tensor, shape (p + 1,)
        Unconstrained kernel parameters, then the log noise variance.
    X : Tensor, shape (m_c, d)
    lower : Tensor, shape (m_c, m_c)
        L_c.
    whitened : Tensor, shape (m_c,)
        w_c.
    value : float
        -log p(y_c), in nats.
    pullback : callable
        To be called once: from a symmetric derivative by A_c to that by ``point``.
    """

    kernel: KernelFunction
    point: Tensor
    X: Tensor
    lower: Tensor
    whitened: Tensor
    value: float
    pullback: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class ConditionalTerm:
    """One expert's term.

    Attributes
    ----------
    value : float
        -log p(y_i | y_c), in nats.
    gradient : ndarray, shape (p + 1,)
        By the parameters, except through A_c.
    by_communication : Tensor, shape (m_c, m_c)
        Twice L_c' (derivative by A_c) L_c, its lower triangle alone valid.
    """

    value: float
    gradient: FloatArray
    by_communication: Tensor


@dataclass(frozen=True)
class _Residual:
    """An expert's residual process on its own rows.

    Attributes
    ----------
    coupling : Tensor, shape (m, m_c)
        B'.
    lower : Tensor, shape (m, m)
        Factor of S.
    whitened : Tensor, shape (m,)
        Its target, whitened by that.
    value : float
        -log p(y_i | y_c), in nats.
    own_pullback, cross_pullback : callable
        From derivatives by A_i and K_ic.
    """

    coupling: Tensor
    lower: Tensor
    whitened: Tensor
    value: float
    own_pullback: Callable[[Tensor], Tensor]
    cross_pullback: Callable[[Tensor], Tensor]


def condition_on(kernel: KernelFunction, theta: FloatArray, X: Tensor, y: Tensor) -> Conditioning:
    """Factor the communication expert.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray, shape (p + 1,)
        Unconstrained kernel parameters, then the log noise variance.
    X : Tensor, shape (m_c, d)
        Standardised inputs of the communication set.
    y : Tensor, shape (m_c,)
        Standardised target.

    Returns
    -------
    Conditioning

    Raises
    ------
    NotPositiveDefiniteError
        If its noisy covariance cannot be factored at ``theta``.
    """
    point = kernel.tensor(theta)
    with torch.no_grad():
        noisy, pullback = kernel.noisy_covariance_with_pullback(point, X, Scratch())
        lower, _ = cholesky(noisy, "covariance matrix of the communication set")
        whitened = solve_lower(lower, y)
        value = negative_log_density(lower, whitened, len(whitened)).item()
    return Conditioning(kernel, point, X, lower, whitened, value, pullback)


def conditional_value(given: Conditioning, X: Tensor, y: Tensor, scratch: Scratch | None = None) -> float:
    """Negative log density of an expert's target given the communication set's.

    Parameters
    ----------
    given : Conditioning
    X : Tensor, shape (m, d)
        Standardised inputs of the expert.
    y : Tensor, shape (m,)
        Standardised target.
    scratch : Scratch, optional
        Memory to use again from one expert to the next.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    NotPositiveDefiniteError
        If the residual covariance cannot be factored.
    """
    with torch.no_grad():
        return _residual(given, X, y, scratch or Scratch()).value


def conditional_term(given: Conditioning, X: Tensor, y: Tensor, scratch: Scratch | None = None) -> ConditionalTerm:
    """Negative log density of an expert's target given the communication set's, and its derivatives.

    Parameters
    ----------
    given : Conditioning
    X : Tensor, shape (m, d)
        Standardised inputs of the expert.
    y : Tensor, shape (m,)
        Standardised target.
    scratch : Scratch, optional
        Memory to use again from one expert to the next; the result is not in it.

    Returns
    -------
    ConditionalTerm

    Raises
    ------
    NotPositiveDefiniteError
        If the residual covariance cannot be factored.
    """
    memory = scratch or Scratch()
    with torch.no_grad():
        residual = _residual(given, X, y, memory)
        lower, coupling, w = residual.lower, residual.coupling, given.whitened
        a = solve_lower_transposed(lower, residual.whitened)
        v = torch.mv(coupling.mT, a) - w
        inverse = inverse_from_cholesky(lower, memory)
        solved = torch.mm(inverse, coupling, out=memory.take("solved", coupling.shape, coupling))
        by_communication = lower_product(coupling.mT, solved)
        by_communication.addmm_(torch.stack([-v, w], dim=1), torch.stack([v, w]))
        by_cross = unwhiten_rows(given.lower, solved, out=solved).neg_()
        by_cross.addr_(a, solve_lower_transposed(given.lower, v))
        gradient = residual.own_pullback(inverse.addr_(a, a, alpha=-1.0).mul_(0.5))
        gradient[:-1] += residual.cross_pullback(by_cross)
    return ConditionalTerm(residual.value, gradient.double().cpu().numpy(), by_communication)


def own_derivative(given: Conditioning) -> Tensor:
    """The communication expert's own part of what ``communication_gradient`` takes: I - w_c w_c', shape (m_c, m_c)."""
    identity = torch.eye(len(given.whitened), dtype=given.whitened.dtype, device=given.whitened.device)
    return identity.addr_(given.whitened, given.whitened, alpha=-1.0)


def communication_gradient(given: Conditioning, by_communication: Tensor) -> FloatArray:
    """Gradient through A_c, of all terms at once.

    Parameters
    ----------
    given : Conditioning
        Its pullback is used up.
    by_communication : Tensor, shape (m_c, m_c)
        Sum of the terms' ``by_communication``, the communication expert's own included; of the lower triangle.

    Returns
    -------
    ndarray, shape (p + 1,)
    """
    with torch.no_grad():
        whole = by_communication.tril().add_(by_communication.tril(-1).mT)
        transposed = unwhiten_rows(given.lower, whole, out=whole).mT.contiguous()
        by_covariance = unwhiten_rows(given.lower, transposed, out=transposed).mul_(0.5)
        return given.pullback(by_covariance).double().cpu().numpy()


def _residual(given: Conditioning, X: Tensor, y: Tensor, scratch: Scratch) -> _Residual:
    noisy, own_pullback = given.kernel.noisy_covariance_with_pullback(given.point, X, scratch.part("own"))
    cross, cross_pullback = given.kernel.covariance_with_pullback(given.point[:-1], X, given.X, scratch.part("cross"))
    coupling = whiten_rows(given.lower, cross)
    scale = noisy.diagonal().mean().item()
    lower, _ = cholesky(subtract_gram(noisy, coupling), "residual covariance of an expert", scale, scratch)
    whitened = solve_lower(lower, y - coupling @ given.whitened)
    value = negative_log_density(lower, whitened, len(whitened)).item()
    return _Residual(coupling, lower, whitened, value, own_pullback, cross_pullback)
