"""Checks of the estimator's settings, each returning the value that was meant."""

from __future__ import annotations

import os

import numpy as np
import torch
from gpytorch.kernels import Kernel
from sklearn.utils import check_random_state

from gpcommittee.choices import check_count
from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.training import AUTO

PLAIN_KERNEL = "squared_exponential"
"""Where nothing is said of the kernel and nothing is trained, by which kernels could be compared."""


def verbosity(value: object) -> int:
    """A level of progress, or whether there is to be any."""
    return int(value) if isinstance(value, bool | np.bool_) else check_count("verbose", value, 0)


def seed(random_state: int | np.random.RandomState | None) -> int:
    """One seed drawn from scikit-learn's ``random_state``."""
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise InvalidParameterError(f"random_state: {error}.") from error


def device(value: object) -> torch.device:
    """A device on which this machine can compute."""
    if value is None:
        return torch.device("cpu")
    try:
        chosen = torch.device(value)  # type: ignore[call-overload]
        torch.ones(1, device=chosen).item()
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InvalidParameterError(
            f"device {value!r} cannot be used here: {str(error).splitlines()[0]} Choose device='cpu'."
        ) from error
    return torch.device(chosen)


def kernel_name(value: object, *, optimise: bool) -> str:
    """The name of the kernel that a setting means, of a kernel object its class's."""
    if value is None:
        return AUTO if optimise else PLAIN_KERNEL
    return value if isinstance(value, str) else type(value).__name__


def kernels(value: object, n_features: int, *, optimise: bool) -> dict[str, Kernel]:
    """The kernel meant by a name, or by an object tried on inputs of the right width, or all that "auto" compares."""
    name = kernel_name(value, optimise=optimise)
    if value is None or isinstance(value, str):
        if name not in (*KERNELS, AUTO):
            raise InvalidParameterError(
                f"Unknown kernel {name!r}; choose one of {sorted(KERNELS)}, {AUTO!r} or pass a kernel object."
            )
        return {each: make_kernel(each, n_features) for each in (KERNELS if name == AUTO else [name])}
    if not isinstance(value, Kernel):
        raise InvalidParameterError(
            f"kernel must be a name, a gpytorch.kernels.Kernel or None, got {type(value).__name__}."
        )
    _try_kernel(value, n_features)
    return {name: value}


def _try_kernel(kernel: Kernel, n_features: int) -> None:
    points = torch.linspace(-1.0, 1.0, 5 * n_features, dtype=torch.float64).reshape(5, n_features)
    try:
        first, second = KernelFunction(kernel), KernelFunction(kernel)
        start, moved = first.tensor(first.start), first.tensor(first.start + 0.1)
        with torch.no_grad():
            first.covariance(start, points[:2], points[2:])
            covariance = first.covariance(moved, points[:2], points[2:])
            again = second.covariance(moved, points[:2], points[2:])
    except Exception as error:
        raise InvalidParameterError(f"The kernel fails on inputs with {n_features} columns: {error}") from error
    if covariance.shape != (2, 3):
        raise InvalidParameterError(
            f"The kernel must give a covariance of shape (2, 3) for two and three rows of {n_features} columns, "
            f"got shape {tuple(covariance.shape)}; batches of kernels are not supported."
        )
    if not bool(torch.isfinite(covariance).all()):
        raise InvalidParameterError(f"The kernel gives NaN or infinity on ordinary inputs with {n_features} columns.")
    if not torch.equal(covariance, again):
        raise InvalidParameterError(
            "The kernel's values depend on earlier evaluations or on random numbers of its own, as when it "
            "interpolates on a grid or draws features; a committee needs a function of the kernel's parameters."
        )


def checkpoint(value: object) -> str | None:
    """The path of a checkpoint, or None."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or not os.fspath(value):
        raise InvalidParameterError(f"checkpoint must be None or a path, got {value!r}.")
    return os.fspath(value)


def unset_with_labels(n_experts: object, expert_size: object, communication_size: object) -> None:
    """Refuse sizes beside an array of labels, which decides them."""
    if (n_experts, expert_size, communication_size) != (None, None, None):
        raise InvalidParameterError(
            "n_experts, expert_size and communication_size must be None when partition is an array of labels, got "
            f"{n_experts!r}, {expert_size!r} and {communication_size!r}."
        )
