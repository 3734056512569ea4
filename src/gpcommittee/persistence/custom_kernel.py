"""Kernels that a model file cannot rebuild: enough is stored to check and fill a kernel that the user gives again."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import Any

import torch
from gpytorch.kernels import Kernel
from gpytorch.priors import Prior
from torch import Tensor

from gpcommittee.errors import InvalidParameterError
from gpcommittee.persistence.constraint_spec import tensor_from_lists, tensor_to_lists
from gpcommittee.persistence.kernel_spec import settings_of


def custom_kernel_spec(kernel: Kernel) -> dict[str, Any]:
    """What has to agree when the kernel is given again, and the values of its parameters.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel

    Returns
    -------
    dict
        For JSON: the class names and known settings of the kernel and all it contains, parameter values, and digests
        of all other tensors (bounds of constraints, active dimensions, fixed weights). Priors are left out.

    Raises
    ------
    InvalidParameterError
        If a parameter is NaN or infinite.
    """
    return {
        "custom": True,
        "class": _class_name(kernel),
        "kernels": _kernels(kernel),
        "parameters": {name: tensor_to_lists(value, name) for name, value in kernel.named_parameters()},
        "buffers": {name: _digest(value) for name, value in _buffers(kernel).items()},
    }


def matches_custom_spec(kernel: Kernel, spec: dict[str, Any]) -> bool:
    """Whether a kernel has the structure that ``custom_kernel_spec`` described.

    Class names are compared without their modules, which differ when a script's class is imported elsewhere. Plain
    attributes of custom classes are not compared: giving the same kernel is the caller's part.
    """
    return _difference(kernel, spec) is None


def restore_custom_kernel(kernel: Kernel, spec: dict[str, Any]) -> Kernel:
    """A copy of the kernel with the stored parameter values.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        Not changed.
    spec : dict
        From ``custom_kernel_spec``.

    Returns
    -------
    gpytorch.kernels.Kernel
        In float64 on the CPU.

    Raises
    ------
    InvalidParameterError
        If the kernel's structure differs.
    """
    if difference := _difference(kernel, spec):
        raise InvalidParameterError(
            f"The kernel given does not match the one the model was saved with, a {spec['class']}: {difference}. "
            "Pass a kernel built in the same way."
        )
    copy = deepcopy(kernel).cpu().double()
    with torch.no_grad():
        for name, parameter in copy.named_parameters():
            parameter.copy_(tensor_from_lists(spec["parameters"][name]))
    return copy


def _difference(kernel: Kernel, spec: dict[str, Any]) -> str | None:
    shapes = {name: tuple(value.shape) for name, value in kernel.named_parameters()}
    stored_shapes = {name: tuple(tensor_from_lists(value).shape) for name, value in spec["parameters"].items()}
    buffers = {name: _digest(value) for name, value in _buffers(kernel).items()}
    pairs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "kernels": (_kernels(kernel), spec["kernels"]),
        "parameters": (shapes, stored_shapes),
        "bounds and other fixed tensors": (buffers, spec["buffers"]),
    }
    return next((f"its {part} differ: {_first(*pair)}" for part, pair in pairs.items() if pair[0] != pair[1]), None)


def _first(given: dict[str, Any], stored: dict[str, Any]) -> str:
    name = min(key for key in given.keys() | stored.keys() if given.get(key) != stored.get(key))
    return f"{name or 'the outermost'} is {given.get(name, 'missing')}, saved was {stored.get(name, 'none')}"


def _class_name(kernel: Kernel) -> str:
    return f"{type(kernel).__module__}.{type(kernel).__qualname__}"


def _kernels(kernel: Kernel) -> dict[str, dict[str, Any]]:
    kernels = {name: module for name, module in kernel.named_modules() if isinstance(module, Kernel)}
    return {name: {"class": type(module).__name__, **settings_of(module)} for name, module in kernels.items()}


def _buffers(kernel: Kernel) -> dict[str, Tensor]:
    priors = tuple(f"{name}." for name, module in kernel.named_modules() if isinstance(module, Prior))
    return {name: value for name, value in kernel.named_buffers() if not name.startswith(priors)}


def _digest(tensor: Tensor) -> str:
    """BLAKE2b of a tensor's type, shape and values; floats are widened first, which is exact."""
    values = tensor.detach().cpu()
    array = (values.double() if values.is_floating_point() else values).contiguous().numpy()
    digest = hashlib.blake2b(f"{array.dtype.name}{array.shape}".encode(), digest_size=16)
    digest.update(array.tobytes())
    return digest.hexdigest()
