"""Scaled stationary kernels with one lengthscale per input: covariance in few passes, derivatives in closed form.

GPyTorch's squared exponential, Matern and rational quadratic kernels, alone or under one scale, are recognised and
evaluated here: the same numbers to rounding, in half the time, with gradients that need no graph. With scaled inputs
z = x / l, q = -|z1 - z2|^2 / 2 and W = G * dK/dq for the derivative G of anything by the covariance K of two sets, the
derivative by lengthscale l_d is (1 / l_d) sum_ij W_ij (z1_id - z2_jd)^2, which row and column sums of W and the product
W z2 give: one product instead of one pass per input. For a set with itself it is (2 / l_d) (sum_i rho_i z_id^2 -
sum_i z_id (W z)_id) with rho the row sums of W.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
from torch import Tensor

from gpcommittee.kernels.profiles import Profile, matern12, matern32, matern52, rational_quadratic, squared_exponential
from gpcommittee.scratch import Scratch

MATERN_PROFILES: Mapping[float, Profile] = {0.5: matern12, 1.5: matern32, 2.5: matern52}


@dataclass(frozen=True)
class Natural:
    """Parameters in natural units.

    Attributes
    ----------
    variance : Tensor of one value
    lengthscale : Tensor, shape (d,) or (1,)
    alpha : Tensor of one value, or None where the kernel has none
    """

    variance: Tensor
    lengthscale: Tensor
    alpha: Tensor | None

    def detach(self) -> Natural:
        """The same values outside any graph."""
        alpha = None if self.alpha is None else self.alpha.detach()
        return Natural(self.variance.detach(), self.lengthscale.detach(), alpha)

    def tensors(self) -> tuple[Tensor, ...]:
        """Those that the kernel has, in the order of the attributes."""
        return tuple(value for value in (self.variance, self.lengthscale, self.alpha) if value is not None)


@dataclass(frozen=True)
class Source:
    """Where a natural parameter comes from.

    Attributes
    ----------
    name : str
        Of the unconstrained parameter.
    own : Tensor
        The kernel's own unconstrained value, for a parameter that is not learned.
    constraint : gpytorch.constraints.Interval or None
    """

    name: str
    own: Tensor
    constraint: Interval | None

    def natural(self, unconstrained: Mapping[str, Tensor]) -> Tensor:
        """Its natural value, shape (n,), given the learned unconstrained parameters by name."""
        value = unconstrained.get(self.name, self.own).reshape(-1)
        return value if self.constraint is None else self.constraint.transform(value)


@dataclass(frozen=True)
class Stationary:
    """How a recognised kernel is evaluated.

    Attributes
    ----------
    profile : callable
        Correlation as a function of distance.
    lengthscale : Source
    variance, alpha : Source or None
        None where the kernel has none.
    """

    profile: Profile
    lengthscale: Source
    variance: Source | None
    alpha: Source | None

    def natural(self, unconstrained: Mapping[str, Tensor]) -> Natural:
        """Natural parameters, given the learned unconstrained parameters by name."""
        lengthscale = self.lengthscale.natural(unconstrained)
        one = lengthscale.new_ones(())
        return Natural(
            one if self.variance is None else self.variance.natural(unconstrained).reshape(()),
            lengthscale,
            None if self.alpha is None else self.alpha.natural(unconstrained).reshape(()),
        )

    def covariance(self, natural: Natural, x1: Tensor, x2: Tensor, scratch: Scratch) -> Tensor:
        """Covariance of two sets of inputs, shapes (..., n1, d) and (..., n2, d), centred at the mean of the second."""
        centre = x2.mean(dim=-2, keepdim=True)
        z1, z2 = ((x - centre) / natural.lengthscale for x in (x1, x2))
        q = minus_half_squared_distance(z1, z2, scratch)
        return self.profile(q, natural.alpha, scratch)[0].mul_(natural.variance)

    def with_pullback(
        self, natural: Natural, x: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Natural]]:
        """Covariance K of a set with itself, shape (..., n, n), and the pullback of a derivative by K.

        The diagonal is exact. The pullback, to be called once, takes a symmetric derivative by K and returns that by
        the natural parameters, summed over leading dimensions.
        """
        z = (x - x.mean(dim=-2, keepdim=True)) / natural.lengthscale
        q = minus_half_squared_distance(z, z, scratch)
        q.diagonal(dim1=-2, dim2=-1).zero_()
        return self._with_pullback(natural, q, lambda weights: _weighted_squares(weights, z), scratch)

    def cross_with_pullback(
        self, natural: Natural, x1: Tensor, x2: Tensor, scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Natural]]:
        """Covariance K of two sets, shape (..., n1, n2), centred at the mean of the second, and the pullback.

        The pullback, to be called once, takes any derivative by K and returns that by the natural parameters, summed
        over leading dimensions.
        """
        centre = x2.mean(dim=-2, keepdim=True)
        z1, z2 = ((x - centre) / natural.lengthscale for x in (x1, x2))
        q = minus_half_squared_distance(z1, z2, scratch)
        return self._with_pullback(natural, q, lambda weights: _weighted_cross_squares(weights, z1, z2), scratch)

    def _with_pullback(
        self, natural: Natural, q: Tensor, weighted_squares: Callable[[Tensor], Tensor], scratch: Scratch
    ) -> tuple[Tensor, Callable[[Tensor], Natural]]:
        correlation, slope, by_alpha = self.profile(q, natural.alpha, scratch)

        def pullback(by_covariance: Tensor) -> Natural:
            by_variance = _inner(correlation, by_covariance)
            of_alpha = None if by_alpha is None else natural.variance * _inner(by_alpha(), by_covariance)
            squares = weighted_squares(slope().mul_(by_covariance))
            by_lengthscale = (natural.variance * squares / natural.lengthscale).sum_to_size(natural.lengthscale.shape)
            return Natural(by_variance, by_lengthscale, of_alpha)

        covariance = torch.mul(correlation, natural.variance, out=scratch.take("covariance", correlation.shape, q))
        return covariance, pullback


def recognise(kernel: Kernel) -> Stationary | None:
    """The way to evaluate a scaled or plain stationary kernel; None for any other kernel."""
    scale = kernel if type(kernel) is ScaleKernel else None
    base: Kernel = kernel.base_kernel if scale is not None else kernel  # type: ignore[assignment]
    profile = _profile(base)
    if profile is None or any(k.active_dims is not None or k.batch_shape for k in (kernel, base)):
        return None
    prefix = "" if scale is None else "base_kernel."
    return Stationary(
        profile,
        lengthscale=_source(base, prefix, "raw_lengthscale"),
        variance=None if scale is None else _source(scale, "", "raw_outputscale"),
        alpha=_source(base, prefix, "raw_alpha") if type(base) is RQKernel else None,
    )


def minus_half_squared_distance(z1: Tensor, z2: Tensor, scratch: Scratch) -> Tensor:
    """Minus half the squared distance of all pairs of rows by one product, at most 0; inputs centred for accuracy."""
    half1, half2 = (-0.5 * z.square().sum(dim=-1, keepdim=True) for z in (z1, z2))
    left = torch.cat([z1, half1, torch.ones_like(half1)], dim=-1)
    right = torch.cat([z2, torch.ones_like(half2), half2], dim=-1)
    shape = (*left.shape[:-1], right.shape[-2])
    return torch.matmul(left, right.mT, out=scratch.take("correlation", shape, z1)).clamp_max_(0.0)


def _profile(base: Kernel) -> Profile | None:
    if type(base) is MaternKernel:
        return MATERN_PROFILES[base.nu]
    return {RBFKernel: squared_exponential, RQKernel: rational_quadratic}.get(type(base))


def _source(module: Kernel, prefix: str, name: str) -> Source:
    return Source(prefix + name, getattr(module, name).detach(), module.constraint_for_parameter_name(name))


def _inner(first: Tensor, second: Tensor) -> Tensor:
    return torch.dot(first.reshape(-1), second.reshape(-1))


def _weighted_squares(weights: Tensor, z: Tensor) -> Tensor:
    """sum_ij W_ij (z_id - z_jd)^2 for symmetric weights W, shape (d,), summed over leading dimensions."""
    row_sums = weights.sum(dim=-1, keepdim=True)
    return _sum_rows(2 * (row_sums * z.square() - z * (z.mT @ weights).mT))


def _weighted_cross_squares(weights: Tensor, z1: Tensor, z2: Tensor) -> Tensor:
    """sum_ij W_ij (z1_id - z2_jd)^2, shape (d,), summed over leading dimensions."""
    row_sums, column_sums = weights.sum(dim=-1, keepdim=True), weights.sum(dim=-2).unsqueeze(-1)
    first = row_sums * z1.square() - 2 * z1 * (weights @ z2)
    second = column_sums * z2.square()
    return _sum_rows(first) + _sum_rows(second)


def _sum_rows(values: Tensor) -> Tensor:
    """Sum over all dimensions but the last, shape (d,)."""
    return values.sum(dim=tuple(range(values.ndim - 1)))
