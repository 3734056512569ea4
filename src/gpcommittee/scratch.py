"""Memory that is used again: fresh matrices of a few megabytes cost page faults, a fifth of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class Scratch:
    """Named buffers that grow to the largest matrix asked for. One worker at a time may use it."""

    def __init__(self) -> None:
        self._storage: dict[str, Tensor] = {}
        self._parts: dict[str, Scratch] = {}

    def part(self, name: str) -> Scratch:
        """Memory of its own under a name, for what must not be overwritten by matrices of the same names elsewhere."""
        return self._parts.setdefault(name, Scratch())

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Uninitialised tensor in the buffer of a name; valid until that name is taken again.

        Parameters
        ----------
        name : str
        shape : tuple of int
        like : Tensor
            Gives type and device.

        Returns
        -------
        Tensor, of the given shape, contiguous
        """
        size = math.prod(shape)
        storage = self._storage.get(name)
        if storage is None or storage.numel() < size or storage.dtype != like.dtype or storage.device != like.device:
            storage = torch.empty(size, dtype=like.dtype, device=like.device)
            self._storage[name] = storage
        return storage[:size].view(shape)


class ScratchPool:
    """Scratch memory for tasks, one each at a time, kept for the tasks that follow on whichever thread."""

    def __init__(self) -> None:
        self._idle: list[Scratch] = []

    @contextmanager
    def borrow(self) -> Iterator[Scratch]:
        """Memory that no other task has until the context ends."""
        try:
            scratch = self._idle.pop()
        except IndexError:
            scratch = Scratch()
        try:
            yield scratch
        finally:
            self._idle.append(scratch)
