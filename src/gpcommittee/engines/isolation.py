"""The caller's PyTorch modes, switched off: they would change numbers or forbid gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def plain_torch() -> Iterator[None]:
    """A block without inference mode, automatic casts and default device of the caller's."""
    with ExitStack() as modes:
        modes.enter_context(torch.inference_mode(False))
        if torch.get_default_device() != torch.device("cpu"):
            modes.enter_context(torch.device("cpu"))  # slows every call down: only where it changes something
        for device in ("cpu", "cuda"):
            modes.enter_context(torch.autocast(device, enabled=False))
        yield
