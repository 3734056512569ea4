"""Memory of the device on which experts are computed."""

from __future__ import annotations

import torch

BATCH_SHARE = 1 / 4
"""Share of a device's free memory that the experts of one batch may take: kept factors and what comes next fit too."""


def total_memory(device: torch.device) -> float:
    """Bytes of memory of a CUDA device."""
    return float(torch.cuda.mem_get_info(device)[1])


def batch_memory(device: torch.device) -> float:
    """Bytes that a batch of experts may take on a device: a share of what is free; 0 where experts go one by one."""
    if device.type != "cuda":
        return 0.0
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return BATCH_SHARE * (free + unused)
