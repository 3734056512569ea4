"""Kernels by name: scaled stationary kernels with one lengthscale per input, starting at 1.

Squared exponential: Eq. 1 of the paper; the others as in Rasmussen and Williams (2006), chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gpytorch.constraints import Interval, Positive
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel

from gpcommittee.errors import InvalidParameterError

ALPHA_RANGE = (1e-3, 1e3)
"""Shapes of the rational quadratic kernel. At its upper end it is the squared exponential to a thousandth; beyond,
GPyTorch's formula (1 + d / 2 alpha)^-alpha loses digits, more than the smallest noise can hide."""


def _log_positive() -> Positive:
    return Positive(transform=torch.exp, inv_transform=torch.log)


def _scaled(base: Kernel) -> Kernel:
    kernel = ScaleKernel(base, outputscale_constraint=_log_positive())
    return kernel.double().initialize(**{"outputscale": 1.0, "base_kernel.lengthscale": 1.0})


def _ard(n_features: int) -> dict[str, Any]:
    return {"ard_num_dims": n_features, "lengthscale_constraint": _log_positive()}


def _rational_quadratic(n_features: int) -> Kernel:
    kernel = RQKernel(alpha_constraint=Interval(*ALPHA_RANGE), **_ard(n_features)).double()
    return kernel.initialize(alpha=1.0)


KERNELS: dict[str, Callable[[int], Kernel]] = {
    "squared_exponential": lambda d: _scaled(RBFKernel(**_ard(d))),
    "matern12": lambda d: _scaled(MaternKernel(nu=0.5, **_ard(d))),
    "matern32": lambda d: _scaled(MaternKernel(nu=1.5, **_ard(d))),
    "matern52": lambda d: _scaled(MaternKernel(nu=2.5, **_ard(d))),
    "rational_quadratic": lambda d: _scaled(_rational_quadratic(d)),
}
"""Kernel names; each builds a scaled kernel with one lengthscale per input, all starting at 1."""


def make_kernel(name: str, n_features: int) -> Kernel:
    """Kernel of a given name with one lengthscale per input.

    Parameters
    ----------
    name : str
        A key of ``KERNELS``.
    n_features : int

    Returns
    -------
    gpytorch.kernels.Kernel
        In double precision, with lengthscales and variance 1, parameterised by their logarithms.

    Raises
    ------
    InvalidParameterError
        If the name is unknown.
    """
    if name not in KERNELS:
        raise InvalidParameterError(
            f"Unknown kernel {name!r}; choose one of {sorted(KERNELS)} or pass a kernel object."
        )
    return KERNELS[name](n_features)
