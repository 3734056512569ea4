"""What a result was made with: machine, versions, and how fast the machine multiplied matrices at that moment."""

from __future__ import annotations

import platform
import subprocess
import time
from pathlib import Path

import torch

from benchmarks._machine import blas, cores, memory_gib, processor, version_of
from gpcommittee.engines import one_blas_thread

PACKAGES = ("gpcommittee", "torch", "gpytorch", "numpy", "scipy", "scikit-learn", "GPy")


def machine() -> dict[str, object]:
    """Processor, cores this process may use, and memory; no name of the machine."""
    return {
        "cpu": processor(),
        "cores": cores(),
        "memory_gib": round(memory_gib(), 1),
        "system": platform.system(),
        "blas": blas(),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that decide the numbers, and the source's commit."""
    return {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}, "commit": _commit()}


def dgemm_rate(n: int = 1024, tries: int = 5) -> float:
    """Double-precision matrix products on one thread, 10^9 floating-point operations per second."""
    with one_blas_thread():
        a = torch.rand(n, n, dtype=torch.float64)
        best = min(_seconds_of_product(a) for _ in range(tries))
    return 2 * n**3 / best / 1e9


def _seconds_of_product(a: torch.Tensor) -> float:
    start = time.perf_counter()
    torch.mm(a, a)
    return time.perf_counter() - start


def _commit() -> str:
    """Commit of the source, with a plus sign if files differ from it."""
    try:
        command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
        folder = Path(__file__).parent
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
