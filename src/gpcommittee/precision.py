"""Floating-point precisions by name."""

from __future__ import annotations

import torch

from gpcommittee.errors import InvalidParameterError

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def torch_dtype(name: object) -> torch.dtype:
    """The PyTorch type of a precision's name.

    Raises
    ------
    InvalidParameterError
        If it is not the name of a precision that experts can have.
    """
    if not isinstance(name, str) or name not in DTYPES:
        raise InvalidParameterError(f"dtype must be one of {sorted(DTYPES)}, got {name!r}.")
    return DTYPES[name]
