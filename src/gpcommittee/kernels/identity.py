"""All that decides a kernel's values, as text: two kernels with the same text are the same function."""

from __future__ import annotations

from gpytorch.kernels import Kernel
from torch import nn

PLAIN = (bool, int, float, str, tuple, list, type(None))


def identity(kernel: Kernel) -> str:
    """Classes, plain attributes, parameters and buffers of a kernel and everything in it.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel

    Returns
    -------
    str
        Of priors and constraints too; the same in every process.
    """
    modules = [(name, type(module).__qualname__, _plain(module)) for name, module in kernel.named_modules()]
    tensors = [(name, value.tolist()) for name, value in [*kernel.named_parameters(), *kernel.named_buffers()]]
    trained = [name for name, parameter in kernel.named_parameters() if parameter.requires_grad]
    return repr((modules, tensors, trained))


def _plain(module: nn.Module) -> list[tuple[str, object]]:
    """Attributes that hold settings; functions by their name."""
    kept: list[tuple[str, object]] = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, PLAIN):
            kept.append((name, value))
        elif callable(value) and not isinstance(value, nn.Module):
            kept.append((name, getattr(value, "__qualname__", type(value).__qualname__)))
    return kept
