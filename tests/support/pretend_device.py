"""A pretend device: tensors that say they are on another device and are computed on the CPU.

An operation that mixes them with tensors of the CPU, which a graphics processor refuses, raises here too. It finds code
that makes tensors in the wrong place; it says nothing about a processor's own numbers, speed or memory. The device goes
by PyTorch's name ``meta``, the only one beside the CPU that every build of PyTorch knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map_only

ELSEWHERE = torch.device("meta")
CPU = torch.device("cpu")
MOVES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class There(Tensor):
    """A tensor of the pretend device."""

    held: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> There:
        made: There = Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=ELSEWHERE,
            requires_grad=False,
        )
        made.held = inner
        return made

    def tolist(self) -> Any:
        """As a real device has it, and tensor subclasses have not."""
        return self.held.tolist()

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _run(function, args, kwargs or {})


class _Mode(TorchDispatchMode):
    """Tensors made on the pretend device without any tensor there to begin with."""

    def __torch_dispatch__(
        self, function: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return _run(function, args, kwargs or {})


def _run(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
    target = kwargs.get("device")
    moves_there = target is not None and torch.device(target) == ELSEWHERE
    if not moves_there and not any(isinstance(tensor, There) for tensor in tensors):
        return function(*args, **kwargs)
    if function not in MOVES:
        _check_one_device(function, tensors)
    plain_args, plain_kwargs = tree_map_only(There, lambda tensor: tensor.held, (tuple(args), dict(kwargs)))
    if target is not None:
        plain_kwargs["device"] = CPU
    result = function(*plain_args, **plain_kwargs)
    decides = tensors[:1] if function in MOVES else tensors
    if moves_there or (target is None and any(isinstance(tensor, There) for tensor in decides)):
        return return_and_correct_aliasing(function, args, dict(kwargs), tree_map_only(Tensor, There, result))
    return result


def _check_one_device(function: Any, tensors: Sequence[Tensor]) -> None:
    """Tensors of no dimension may come from the CPU, as PyTorch allows."""
    there = [tensor for tensor in tensors if isinstance(tensor, There)]
    here = [tensor for tensor in tensors if not isinstance(tensor, There) and tensor.ndim > 0]
    if there and here:
        raise RuntimeError(f"{function} mixes devices: a tensor of shape {tuple(here[0].shape)} is on the CPU.")


@contextmanager
def pretend_device() -> Iterator[torch.device]:
    """A block in which the device is there."""
    with _Mode():  # type: ignore[no-untyped-call]
        yield ELSEWHERE
