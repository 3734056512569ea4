"""Checks of the estimator's settings, each returning the value that was meant."""

from __future__ import annotations

import math
import numbers

import numpy as np
import torch
from gpytorch.kernels import Kernel
from sklearn.utils import check_random_state

from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KernelFunction, make_kernel

DTYPES = {"float64": torch.float64, "float32": torch.float32}
DEFAULT_KERNEL = "squared_exponential"


def choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value outside the allowed ones."""
    if value not in allowed:
        raise InvalidParameterError(f"{name} must be one of {allowed}, got {value!r}.")


def count(name: str, value: object, least: int) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, bool | np.bool_) and least == 0:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidParameterError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < math.inf:
        raise InvalidParameterError(f"{name} must be a finite number above 0, got {value!r}.")
    return float(value)


def optional_positive(name: str, value: object) -> float | None:
    """None, or a finite number above 0."""
    return None if value is None else positive(name, value)


def seed(random_state: int | np.random.RandomState | None) -> int:
    """One seed drawn from scikit-learn's ``random_state``."""
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise InvalidParameterError(f"random_state: {error}.") from error


def dtype(name: object) -> torch.dtype:
    """The PyTorch type of a name."""
    if not isinstance(name, str) or name not in DTYPES:
        raise InvalidParameterError(f"dtype must be one of {sorted(DTYPES)}, got {name!r}.")
    return DTYPES[name]


def device(value: object) -> torch.device:
    """A device on which this machine can compute."""
    if value is None:
        return torch.device("cpu")
    try:
        chosen = torch.device(value)  # type: ignore[call-overload]
        torch.empty(0, device=chosen)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InvalidParameterError(
            f"device {value!r} cannot be used here: {str(error).splitlines()[0]} Choose device='cpu'."
        ) from error
    return torch.device(chosen)


def kernel(value: object, n_features: int) -> Kernel:
    """The kernel meant by a name, an object or None, tried on inputs of the right width."""
    if value is None or isinstance(value, str):
        return make_kernel(value or DEFAULT_KERNEL, n_features)
    if not isinstance(value, Kernel):
        raise InvalidParameterError(
            f"kernel must be a name, a gpytorch.kernels.Kernel or None, got {type(value).__name__}."
        )
    _try_kernel(value, n_features)
    return value


def _try_kernel(kernel: Kernel, n_features: int) -> None:
    function = KernelFunction(kernel)
    points = torch.linspace(-1.0, 1.0, 2 * n_features, dtype=torch.float64).reshape(2, n_features)
    try:
        with torch.no_grad():
            covariance = function.covariance(function.tensor(function.start), points, points)
    except Exception as error:
        raise InvalidParameterError(f"The kernel fails on inputs with {n_features} columns: {error}") from error
    if covariance.shape != (2, 2) or not bool(torch.isfinite(covariance).all()):
        raise InvalidParameterError(
            f"The kernel must give a finite covariance of shape (2, 2) for two rows of {n_features} columns, "
            f"got shape {tuple(covariance.shape)}; batches of kernels are not supported."
        )


def unset_with_labels(n_experts: object, expert_size: object, communication_size: object) -> None:
    """Refuse sizes beside an array of labels, which decides them."""
    if (n_experts, expert_size, communication_size) != (None, None, None):
        raise InvalidParameterError(
            "n_experts, expert_size and communication_size must be None when partition is an array of labels, got "
            f"{n_experts!r}, {expert_size!r} and {communication_size!r}."
        )
