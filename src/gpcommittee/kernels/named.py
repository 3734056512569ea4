"""Kernels by name: scaled stationary kernels with one lengthscale per input.

Standardised rows are about sqrt(2 D) apart. With lengthscales of 1 they have nothing to do with each other when there
are many inputs, and a likelihood without slope teaches nothing. So lengthscales start at 1 with up to 4 inputs, and
from there grow with sqrt(D).

Squared exponential: Eq. 1 of the paper; the others as in Rasmussen and Williams (2006), chapter 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from gpytorch.constraints import Interval, Positive
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, RQKernel, ScaleKernel

from gpcommittee.errors import InvalidParameterError

ALPHA_RANGE = (1e-3, 1e3)
"""Shapes of the rational quadratic kernel. At its upper end it is the squared exponential to a thousandth; beyond,
GPyTorch's formula (1 + d / 2 alpha)^-alpha loses digits, more than the smallest noise can hide."""


FEW_FEATURES = 4
"""Inputs up to which lengthscales start at 1."""


def first_lengthscale(n_features: int) -> float:
    """Where lengthscales start, on standardised inputs.

    Examples
    --------
    >>> first_lengthscale(1), first_lengthscale(4), first_lengthscale(100)
    (1.0, 1.0, 5.0)
    """
    return math.sqrt(max(1.0, n_features / FEW_FEATURES))


def _log_positive() -> Positive:
    return Positive(transform=torch.exp, inv_transform=torch.log)


def _scaled(base: Kernel, n_features: int) -> Kernel:
    kernel = ScaleKernel(base, outputscale_constraint=_log_positive())
    lengthscale = first_lengthscale(n_features)
    return kernel.double().initialize(**{"outputscale": 1.0, "base_kernel.lengthscale": lengthscale})


def _ard(n_features: int) -> dict[str, Any]:
    return {"ard_num_dims": n_features, "lengthscale_constraint": _log_positive()}


def _rational_quadratic(n_features: int) -> Kernel:
    kernel = RQKernel(alpha_constraint=Interval(*ALPHA_RANGE), **_ard(n_features)).double()
    return kernel.initialize(alpha=1.0)


KERNELS: dict[str, Callable[[int], Kernel]] = {
    "squared_exponential": lambda d: _scaled(RBFKernel(**_ard(d)), d),
    "matern12": lambda d: _scaled(MaternKernel(nu=0.5, **_ard(d)), d),
    "matern32": lambda d: _scaled(MaternKernel(nu=1.5, **_ard(d)), d),
    "matern52": lambda d: _scaled(MaternKernel(nu=2.5, **_ard(d)), d),
    "rational_quadratic": lambda d: _scaled(_rational_quadratic(d), d),
}
"""Kernel names; each builds a scaled kernel with one lengthscale per input."""


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
        In double precision, with variance 1 and lengthscales of ``first_lengthscale``, parameterised by their
        logarithms.

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
