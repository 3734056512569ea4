"""GPyTorch kernels as JSON and back, without pickle: structure, parameter values and constraints.

Only kernels of the table ``KERNEL_SETTINGS`` are rebuilt, so a model file can name no code to run. Priors are not
stored: they matter while training, not for prediction; ``prior_names`` lists them.
"""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import (
    AdditiveKernel,
    ConstantKernel,
    CosineKernel,
    Kernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    PiecewisePolynomialKernel,
    PolynomialKernel,
    ProductKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from torch.nn import Parameter

from gpcommittee.errors import InvalidParameterError, ModelFileError
from gpcommittee.persistence.constraint_spec import (
    constraint_from_spec,
    constraint_to_spec,
    tensor_from_lists,
    tensor_to_lists,
)
from gpcommittee.persistence.jsonable import to_jsonable

KERNEL_SETTINGS: dict[type[Kernel], tuple[str, ...]] = {
    AdditiveKernel: (),
    ConstantKernel: (),
    CosineKernel: ("ard_num_dims",),
    LinearKernel: ("ard_num_dims",),
    MaternKernel: ("ard_num_dims", "nu"),
    PeriodicKernel: ("ard_num_dims",),
    PiecewisePolynomialKernel: ("ard_num_dims", "q"),
    PolynomialKernel: ("ard_num_dims", "power"),
    ProductKernel: (),
    RBFKernel: ("ard_num_dims",),
    RQKernel: ("ard_num_dims",),
    ScaleKernel: ("ard_num_dims",),
    SpectralMixtureKernel: ("ard_num_dims", "num_mixtures"),
}
"""Supported kernel classes, each with its constructor's settings."""

SUPPORTED_KERNELS = {cls.__name__: cls for cls in KERNEL_SETTINGS}


def kernel_to_spec(kernel: Kernel) -> dict[str, Any]:
    """Describe a kernel in full.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        Built from the classes of ``SUPPORTED_KERNELS``, without batch dimensions. A kernel that occurs twice in a sum
        or product is described once and shared again when rebuilt.

    Returns
    -------
    dict
        For JSON. Values and bounds are exact.

    Raises
    ------
    InvalidParameterError
        If a kernel, constraint or transform is not supported, has a batch shape, or was changed in a way that
        rebuilding would not repeat, such as parameters tied by hand.

    Examples
    --------
    >>> from gpytorch.kernels import MaternKernel, ScaleKernel
    >>> spec = kernel_to_spec(ScaleKernel(MaternKernel(nu=1.5, ard_num_dims=3)))
    >>> spec["class"], spec["children"][0]["settings"]
    ('ScaleKernel', {'ard_num_dims': 3, 'nu': 1.5})
    >>> kernel_from_spec(spec).base_kernel.nu
    1.5
    """
    spec = _describe(kernel, "kernel", {})
    _check_rebuilt(kernel, spec)
    return spec


def kernel_from_spec(spec: dict[str, Any]) -> Kernel:
    """Rebuild a kernel that ``kernel_to_spec`` described.

    Parameters
    ----------
    spec : dict

    Returns
    -------
    gpytorch.kernels.Kernel
        In float64 on the CPU; ``.to(...)`` brings it elsewhere.

    Raises
    ------
    InvalidParameterError
        If the kernel was of a class of its own and has to be given when loading.
    ModelFileError
        If the specification is not one that ``kernel_to_spec`` writes.
    """
    if spec.get("custom"):
        raise InvalidParameterError(
            f"The model was saved with the kernel {spec['class']}, which a model file cannot rebuild. Pass a kernel of "
            "the same structure: load(path, kernel=...)."
        )
    try:
        return _build(spec, "kernel", {})
    except ModelFileError:
        raise
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"The kernel in the model file cannot be rebuilt ({type(error).__name__}: {error}). "
            "Load the file with the version that wrote it, or fit and save the model again."
        ) from error


def prior_names(kernel: Kernel) -> tuple[str, ...]:
    """Names of the kernel's priors, which a model file does not hold."""
    return tuple(name for name, *_ in kernel.named_priors())


def _describe(kernel: Kernel, path: str, seen: dict[int, str]) -> dict[str, Any]:
    if id(kernel) in seen:
        return {"same_as": seen[id(kernel)]}
    seen[id(kernel)] = path
    _check_supported(kernel)
    active_dims: Any = kernel.active_dims
    return {
        "class": type(kernel).__name__,
        "settings": settings_of(kernel),
        "active_dims": None if active_dims is None else active_dims.tolist(),
        "parameters": {name: _describe_parameter(kernel, name) for name, _ in kernel.named_parameters(recurse=False)},
        "children": [_describe(child, f"{path}.{i}", seen) for i, child in enumerate(_children(kernel))],
    }


def settings_of(kernel: Kernel) -> dict[str, Any]:
    """The constructor settings of one kernel, those of its children not included."""
    names = KERNEL_SETTINGS.get(type(kernel), ())
    settings = {name: to_jsonable(getattr(kernel, name), f"The kernel's {name}") for name in names}
    return {name: value for name, value in settings.items() if value is not None}


def _describe_parameter(kernel: Kernel, name: str) -> dict[str, Any]:
    where = f"{type(kernel).__name__}.{name}"
    parameter = getattr(kernel, name)
    constraint = kernel.constraint_for_parameter_name(name)
    return {
        "values": tensor_to_lists(parameter, where),
        "trainable": parameter.requires_grad,
        "constraint": None if constraint is None else constraint_to_spec(constraint, where),
    }


def _children(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, ScaleKernel):
        return [kernel.base_kernel]
    children: Any = kernel.kernels if isinstance(kernel, AdditiveKernel | ProductKernel) else ()
    return list(children)


def _check_supported(kernel: Kernel) -> None:
    if type(kernel) not in KERNEL_SETTINGS:
        raise InvalidParameterError(
            f"A model file cannot describe the kernel {type(kernel).__module__}.{type(kernel).__qualname__}. Supported "
            f"are {', '.join(SUPPORTED_KERNELS)} of gpytorch.kernels. Use pickle or joblib for this model, or give the "
            "kernel again when loading: load(path, kernel=...)."
        )
    if kernel.batch_shape:
        raise InvalidParameterError(
            f"{type(kernel).__name__} has batch shape {tuple(kernel.batch_shape)}; a committee's kernel has none. "
            "Build it without batch_shape."
        )


def _check_rebuilt(kernel: Kernel, spec: dict[str, Any]) -> None:
    try:
        rebuilt = kernel_from_spec(spec)
        faithful = _parameter_names(rebuilt) == _parameter_names(kernel) and _describe(rebuilt, "kernel", {}) == spec
    except ModelFileError:
        faithful = False
    if not faithful:
        raise InvalidParameterError(
            f"The kernel {type(kernel).__name__} was changed after it was built (parameters tied, added or replaced, "
            "or a constraint removed), which a model file cannot describe. Use pickle or joblib for this model, or "
            "give the kernel again when loading: load(path, kernel=...)."
        )


def _parameter_names(kernel: Kernel) -> list[str]:
    return [name for name, _ in kernel.named_parameters()]


def _build(spec: dict[str, Any], path: str, built: dict[str, Kernel]) -> Kernel:
    if "same_as" in spec:
        return built[spec["same_as"]]
    children = [_build(child, f"{path}.{i}", built) for i, child in enumerate(spec["children"])]
    kernel = _construct(spec, children).double()
    active_dims = spec["active_dims"]
    kernel.register_buffer("active_dims", None if active_dims is None else torch.tensor(active_dims, dtype=torch.long))
    _restore_parameters(kernel, spec["parameters"])
    built[path] = kernel
    return kernel


def _construct(spec: dict[str, Any], children: list[Kernel]) -> Kernel:
    if spec["class"] not in SUPPORTED_KERNELS:
        raise ModelFileError(
            f"The model file names the kernel {spec['class']!r}, which this version cannot rebuild. It knows "
            f"{', '.join(SUPPORTED_KERNELS)}. Load the file with the version that wrote it."
        )
    cls = SUPPORTED_KERNELS[spec["class"]]
    composite = issubclass(cls, AdditiveKernel | ProductKernel | ScaleKernel)
    settings = {name: spec["settings"][name] for name in KERNEL_SETTINGS[cls] if name in spec["settings"]}
    return cls(*(children if composite else ()), **settings)


def _restore_parameters(kernel: Kernel, specs: dict[str, Any]) -> None:
    expected = {name: parameter.shape for name, parameter in kernel.named_parameters(recurse=False)}
    values = {name: tensor_from_lists(spec["values"]) for name, spec in specs.items()}
    if expected != {name: value.shape for name, value in values.items()}:
        raise ModelFileError(f"The model file has the wrong parameters for the kernel {type(kernel).__name__}.")
    for name, spec in specs.items():
        setattr(kernel, name, Parameter(values[name], requires_grad=spec["trainable"]))
        kernel.register_constraint(name, constraint_from_spec(spec["constraint"]))
