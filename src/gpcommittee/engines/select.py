"""From scikit-learn's ``n_jobs`` and a device to an engine."""

from __future__ import annotations

import numbers
import os

import torch

from gpcommittee.engines.device import batch_memory
from gpcommittee.engines.protocol import Engine
from gpcommittee.engines.serial import SerialEngine
from gpcommittee.engines.threads import ThreadEngine
from gpcommittee.errors import InvalidParameterError


def make_engine(n_jobs: int | None, device: torch.device | None = None) -> Engine:
    """Engine for a number of jobs on a device.

    Parameters
    ----------
    n_jobs : int or None
        Worker threads, each with one BLAS thread. None: as many as PyTorch may use in this process (so that nested
        parallelism, which lowers that number, is respected). -1: all processors, -2: all but one, and so on.
    device : torch.device, optional
        On CUDA one worker takes experts in batches, whatever the number of jobs. Default: the CPU.

    Returns
    -------
    Engine

    Raises
    ------
    InvalidParameterError
        If ``n_jobs`` is 0 or not an integer.
    """
    n_workers = _n_workers(n_jobs)
    if device is not None and device.type == "cuda":
        return SerialEngine(batch_memory(device))
    return SerialEngine() if n_workers == 1 else ThreadEngine(n_workers)


def _n_workers(n_jobs: int | None) -> int:
    if n_jobs is None:
        return torch.get_num_threads()
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InvalidParameterError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, _n_processors() + 1 + int(n_jobs))


def _n_processors() -> int:
    """Processors this process may use, which a container or a scheduler can make fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
