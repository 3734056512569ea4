"""The memory that prediction may use for factors."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from gpcommittee.engines import total_memory

GIBIBYTE = 2.0**30
DEFAULT_SHARE = 0.5
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def factor_budget(memory_budget: float | None, device: torch.device | None = None) -> float:
    """Bytes that factors may take.

    Parameters
    ----------
    memory_budget : float or None
        In GiB. None: half of the memory that this process may use, or of the device's own.
    device : torch.device, optional
        Where factors are kept. Default: the CPU.

    Returns
    -------
    float
    """
    if memory_budget is not None:
        return memory_budget * GIBIBYTE
    if device is not None and device.type == "cuda":
        return DEFAULT_SHARE * total_memory(device)
    return DEFAULT_SHARE * usable_memory()


def usable_memory() -> float:
    """Bytes of memory of the machine, or of the container where that is less."""
    physical = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = CONTAINER_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        return physical
    return min(physical, float(limit)) if limit.isdigit() else physical
