"""GPyTorch parameter constraints as JSON, with bounds that survive bit for bit.

GPyTorch creates bounds in torch's default type, usually float32; they widen to float64 exactly and are stored so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gpytorch.constraints import GreaterThan, Interval, LessThan, Positive
from gpytorch.utils.transforms import inv_sigmoid, inv_softplus
from torch import Tensor

from gpcommittee.errors import InvalidParameterError

_Function = Callable[[Tensor], Tensor]

_EMPTY: dict[str, Callable[..., Interval]] = {
    "GreaterThan": lambda **transforms: GreaterThan(0.0, **transforms),
    "Interval": lambda **transforms: Interval(0.0, 1.0, **transforms),
    "LessThan": lambda **transforms: LessThan(0.0, **transforms),
    "Positive": Positive,
}
"""Constraint classes, each with a builder whose bounds are still to be set."""

_BOUNDS: dict[type[Interval], tuple[str, ...]] = {
    GreaterThan: ("lower_bound",),
    Interval: ("lower_bound", "upper_bound"),
    LessThan: ("upper_bound",),
    Positive: (),
}

_TRANSFORMS: dict[str, tuple[_Function, _Function]] = {
    "exp": (torch.exp, torch.log),
    "sigmoid": (torch.sigmoid, inv_sigmoid),
    "softplus": (torch.nn.functional.softplus, inv_softplus),
}


def constraint_to_spec(constraint: Interval, where: str) -> dict[str, Any]:
    """Class, bounds and transform of a constraint.

    Parameters
    ----------
    constraint : gpytorch.constraints.Interval
    where : str
        Name of the constrained parameter for error messages.

    Raises
    ------
    InvalidParameterError
        If the class or the transform is not in this module's tables, or a bound is not what the class implies.
    """
    if type(constraint) not in _BOUNDS:
        raise InvalidParameterError(
            f"{where} has a constraint of class {type(constraint).__name__}, which a model file cannot describe. "
            f"Supported are {sorted(_EMPTY)}."
        )
    names = _BOUNDS[type(constraint)]
    spec = {
        "class": type(constraint).__name__,
        "bounds": {name: tensor_to_lists(getattr(constraint, name), f"{where}'s {name}") for name in names},
        "transform": _transform_name(constraint, where),
    }
    _check_bounds(constraint, spec, where)
    return spec


def constraint_from_spec(spec: dict[str, Any]) -> Interval:
    """The constraint that ``constraint_to_spec`` described, with bounds in float64."""
    name = spec["transform"]
    transform, inverse = (None, None) if name is None else _TRANSFORMS[name]
    constraint = _EMPTY[spec["class"]](transform=transform, inv_transform=inverse).double()
    for bound in _BOUNDS[type(constraint)]:
        setattr(constraint, bound, tensor_from_lists(spec["bounds"][bound]))
    return constraint


def tensor_to_lists(tensor: Tensor, where: str) -> Any:
    """Nested lists of a tensor's values as Python floats, exact for float64 and everything narrower.

    Raises
    ------
    InvalidParameterError
        If a value is NaN or infinite.
    """
    if not torch.isfinite(tensor).all():
        raise InvalidParameterError(f"{where} is {tensor.tolist()}; a model file holds finite numbers only.")
    return tensor.detach().cpu().double().tolist()


def tensor_from_lists(values: Any) -> Tensor:
    """The float64 tensor of nested lists."""
    return torch.tensor(values, dtype=torch.float64)


def _check_bounds(constraint: Interval, spec: dict[str, Any], where: str) -> None:
    rebuilt = constraint_from_spec(spec)
    for bound in ("lower_bound", "upper_bound"):
        found, implied = getattr(constraint, bound), getattr(rebuilt, bound)
        if not torch.equal(found.detach().cpu().double(), implied):
            raise InvalidParameterError(
                f"{where} has a {type(constraint).__name__} constraint with {bound} {found.tolist()}, where its class "
                f"has {implied.tolist()}. Use a constraint class that has this bound."
            )


def _transform_name(constraint: Interval, where: str) -> str | None:
    if not constraint.enforced:
        return None
    used = (_plain(constraint._transform), constraint._inv_transform)
    for name, pair in _TRANSFORMS.items():
        if used == pair:
            return name
    raise InvalidParameterError(
        f"{where} has a constraint with the transform {used[0]} and inverse {used[1]}, which a model file cannot "
        f"describe. Supported are {sorted(_TRANSFORMS)} with their own inverses, and no transform."
    )


def _plain(transform: Any) -> Any:
    """GPyTorch's softplus is a module, of which every copy is another object."""
    is_softplus = type(transform) is torch.nn.Softplus and (transform.beta, transform.threshold) == (1, 20)
    return torch.nn.functional.softplus if is_softplus else transform
