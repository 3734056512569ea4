"""All that decides a kernel beside its hyperparameters, as text: with the same ones it is the same function."""

from __future__ import annotations

from gpytorch.kernels import Kernel
from torch import nn

PLAIN = (bool, int, float, str, tuple, list, type(None))


def identity(kernel: Kernel) -> str:
    """Classes, plain attributes, fixed parameters and buffers of a kernel and everything in it.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel

    Returns
    -------
    str
        Of priors and constraints too, and the names of parameters that are trained; the same in every process.
    """
    modules = [(name, type(module).__qualname__, _plain(module)) for name, module in kernel.named_modules()]
    trained = [name for name, parameter in kernel.named_parameters() if parameter.requires_grad]
    fixed = [(name, value) for name, value in kernel.named_parameters() if not value.requires_grad]
    values = [(name, value.tolist()) for name, value in [*fixed, *kernel.named_buffers()]]
    return repr((modules, values, trained))


def _plain(module: nn.Module) -> list[tuple[str, object]]:
    """Attributes that hold settings; functions by their name."""
    kept: list[tuple[str, object]] = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, PLAIN):
            kept.append((name, value))
        elif callable(value) and not isinstance(value, nn.Module):
            kept.append((name, getattr(value, "__qualname__", type(value).__qualname__)))
    return kept
