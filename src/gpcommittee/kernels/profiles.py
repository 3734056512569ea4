"""Correlations of stationary kernels as functions of distance, and their slopes.

All take q = -r^2 / 2, minus half the squared scaled distance, in a buffer that they overwrite, and the shape parameter
alpha, None for kernels without one. They return the correlation, its slope d correlation / d q and, with alpha, its
derivative by that. Rasmussen and Williams (2006), chapter 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gpcommittee.scratch import Scratch

Derivative = Callable[[], Tensor]
"""Computes a derivative; may be called once, derivatives by other parameters before the slope."""

Evaluated = tuple[Tensor, Derivative, Derivative | None]
Profile = Callable[[Tensor, Tensor | None, Scratch], Evaluated]


def squared_exponential(q: Tensor, alpha: Tensor | None, scratch: Scratch) -> Evaluated:
    """exp(q), which is its own slope."""
    correlation = q.exp_()
    return correlation, lambda: correlation, None


def matern12(q: Tensor, alpha: Tensor | None, scratch: Scratch) -> Evaluated:
    """exp(-r), slope exp(-r) / r; 0 at distances below the root of the rounding error, which are rounding errors.

    Rows that close contribute nothing to a derivative, and a huge slope would drown the others in cancellation.
    """
    distance = _distance(q, 1.0)
    correlation = _decay(distance, scratch)
    smallest = math.sqrt(torch.finfo(q.dtype).eps)
    return (
        correlation,
        lambda: distance.masked_fill_(distance < smallest, math.inf).reciprocal_().mul_(correlation),
        None,
    )


def matern32(q: Tensor, alpha: Tensor | None, scratch: Scratch) -> Evaluated:
    """(1 + a) exp(-a) with a = sqrt(3) r, slope 3 exp(-a)."""
    a = _distance(q, 3.0)
    decay = _decay(a, scratch)
    return a.add_(1.0).mul_(decay), lambda: decay.mul_(3.0), None


def matern52(q: Tensor, alpha: Tensor | None, scratch: Scratch) -> Evaluated:
    """(1 + a + a^2 / 3) exp(-a) with a = sqrt(5) r, slope 5 / 3 (1 + a) exp(-a)."""
    a = _distance(q, 5.0)
    decay = _decay(a, scratch)
    polynomial = torch.addcmul(a, a, a, value=1 / 3, out=scratch.take("polynomial", a.shape, a))
    return polynomial.add_(1.0).mul_(decay), lambda: a.add_(1.0).mul_(decay).mul_(5 / 3), None


def rational_quadratic(q: Tensor, alpha: Tensor | None, scratch: Scratch) -> Evaluated:
    """(1 - q / alpha)^-alpha, slope (1 - q / alpha)^-(alpha + 1)."""
    if alpha is None:
        raise ValueError("A rational quadratic kernel has a shape parameter alpha.")
    base = q.div_(-alpha).add_(1.0)
    log_base = torch.log(base, out=scratch.take("logarithm", base.shape, base))
    correlation = torch.mul(log_base, -alpha, out=scratch.take("power", base.shape, base)).exp_()
    inverse = base.reciprocal_()
    return (
        correlation,
        lambda: inverse.mul_(correlation),
        lambda: log_base.add_(inverse).sub_(1.0).mul_(correlation).neg_(),
    )


def _distance(q: Tensor, factor: float) -> Tensor:
    """sqrt(factor) r, in the buffer of q."""
    return q.mul_(-2.0 * factor).sqrt_()


def _decay(a: Tensor, scratch: Scratch) -> Tensor:
    return torch.neg(a, out=scratch.take("decay", a.shape, a)).exp_()
