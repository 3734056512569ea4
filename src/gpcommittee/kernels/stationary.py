"""Scaled stationary kernels with one lengthscale per input: covariance in few passes, derivatives in closed form.

GPyTorch's squared exponential, Matern and rational quadratic kernels, alone or under one scale, are recognised and
evaluated here: the same numbers to rounding, in half the time, with gradients that need no graph. With scaled inputs
z = x / l, q = -|z1 - z2|^2 / 2 and W = G * dK/dq for the derivative G of anything by the covariance K of a set with
itself, the derivative by lengthscale l_d is (2 / l_d) (sum_i rho_i z_id^2 - sum_i z_id (W z)_id) with rho the row sums
of W: one product instead of one pass per input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel
from torch import Tensor

from gpcommittee.kernels import profiles
from gpcommittee.kernels.profiles import Derivative
from gpcommittee.scratch import Scratch

MATERN_PROFILES = {0.5: profiles.matern12, 1.5: profiles.matern32, 2.5: profiles.matern52}


Evaluated = tuple[Tensor, Derivative] | tuple[Tensor, Derivative, Derivative]


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
        return Natural(
            self.variance.detach(), self.lengthscale.detach(), None if self.alpha is None else self.alpha.detach()
        )

    def tensors(self) -> tuple[Tensor, ...]:
        """Those that the kernel has, in the order of the attributes."""
        return tuple(value for value in (self.variance, self.lengthscale, self.alpha) if value is not None)


@dataclass(frozen=True)
class Stationary:
    """How a recognised kernel is evaluated.

    Attributes
    ----------
    natural : callable
        Natural parameters from unconstrained ones by name.
    profile : callable
        Correlation at q, given the natural parameters, and functions that give its derivatives by q and by alpha.
    """

    natural: Callable[[dict[str, Tensor]], Natural]
    profile: Callable[[Tensor, Natural, Scratch], Evaluated]

    def covariance(self, natural: Natural, x1: Tensor, x2: Tensor, scratch: Scratch) -> Tensor:
        """Covariance of two sets of inputs, shapes (..., n1, d) and (..., n2, d), centred at the mean of the second."""
        centre = x2.mean(dim=-2, keepdim=True)
        z1, z2 = ((x - centre) / natural.lengthscale for x in (x1, x2))
        correlation = self.profile(minus_half_squared_distance(z1, z2, scratch), natural, scratch)[0]
        return correlation.mul_(natural.variance)

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
        correlation, slope, *by_others = self.profile(q, natural, scratch)

        def pullback(by_covariance: Tensor) -> Natural:
            by_variance = _inner(correlation, by_covariance)
            by_alpha = natural.variance * _inner(by_others[0](), by_covariance) if by_others else None
            weighted = slope().mul_(by_covariance)
            by_scales = natural.variance * _by_log_lengthscale(weighted, z) / natural.lengthscale
            return Natural(by_variance, by_scales.sum_to_size(natural.lengthscale.shape), by_alpha)

        covariance = torch.mul(correlation, natural.variance, out=scratch.take("covariance", correlation.shape, x))
        return covariance, pullback


def minus_half_squared_distance(z1: Tensor, z2: Tensor, scratch: Scratch) -> Tensor:
    """Minus half the squared distance of all pairs of rows by one product, at most 0; inputs centred for accuracy."""
    half1, half2 = (-0.5 * z.square().sum(dim=-1, keepdim=True) for z in (z1, z2))
    left = torch.cat([z1, half1, torch.ones_like(half1)], dim=-1)
    right = torch.cat([z2, torch.ones_like(half2), half2], dim=-1)
    shape = (*left.shape[:-1], right.shape[-2])
    return torch.matmul(left, right.mT, out=scratch.take("correlation", shape, z1)).clamp_max_(0.0)


def recognise(kernel: Kernel) -> Stationary | None:
    """The way to evaluate a scaled or plain stationary kernel; None for any other kernel."""
    scale = kernel if type(kernel) is ScaleKernel else None
    base: Kernel = kernel.base_kernel if scale is not None else kernel  # type: ignore[assignment]
    profile = _profile(base)
    if profile is None or any(k.active_dims is not None or k.batch_shape for k in (kernel, base)):
        return None
    prefix = "base_kernel." if scale is not None else ""
    lengthscale = _parameter(base, prefix, "raw_lengthscale")
    variance = _parameter(scale, "", "raw_outputscale") if scale is not None else None
    alpha = _parameter(base, prefix, "raw_alpha") if isinstance(base, RQKernel) else None

    def natural(raw: dict[str, Tensor]) -> Natural:
        scales = lengthscale(raw)
        return Natural(
            variance(raw).reshape(()) if variance is not None else scales.new_ones(()),
            scales.reshape(-1),
            alpha(raw).reshape(()) if alpha is not None else None,
        )

    return Stationary(natural, profile)


def _profile(base: Kernel) -> Callable[[Tensor, Natural, Scratch], Evaluated] | None:
    if type(base) is RBFKernel:
        return lambda q, _, scratch: profiles.squared_exponential(q, scratch)
    if type(base) is MaternKernel:
        matern = MATERN_PROFILES[base.nu]
        return lambda q, _, scratch: matern(q, scratch)
    if type(base) is RQKernel:
        return lambda q, natural, scratch: profiles.rational_quadratic(q, _given(natural.alpha), scratch)
    return None


def _given(alpha: Tensor | None) -> Tensor:
    if alpha is None:
        raise ValueError("A rational quadratic kernel has an alpha.")
    return alpha


def _parameter(module: Kernel, prefix: str, name: str) -> Callable[[dict[str, Tensor]], Tensor]:
    """A parameter in natural units from unconstrained ones by name; its own value where it is not among them."""
    own: Tensor = getattr(module, name).detach()
    constraint: Interval | None = module.constraint_for_parameter_name(name)

    def value(raw: dict[str, Tensor]) -> Tensor:
        unconstrained = raw.get(prefix + name, own)
        return unconstrained if constraint is None else constraint.transform(unconstrained)

    return value


def _inner(first: Tensor, second: Tensor) -> Tensor:
    return torch.dot(first.reshape(-1), second.reshape(-1))


def _by_log_lengthscale(weighted: Tensor, z: Tensor) -> Tensor:
    """sum_ij W_ij (z_id - z_jd)^2 for a symmetric W, shape (d,), summed over leading dimensions."""
    row_sums = weighted.sum(dim=-1, keepdim=True)
    twice = 2 * (row_sums * z.square() - z * (z.mT @ weighted).mT)
    return twice.sum(dim=tuple(range(z.ndim - 1)))
