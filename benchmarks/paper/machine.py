"""What a result was made with: machine, versions, and how fast the machine multiplied matrices at that moment."""

from __future__ import annotations

import platform
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import torch

from benchmarks._machine import blas, cores, memory_gib, processor, version_of
from gpcommittee.engines import one_blas_thread

PACKAGES = ("gpcommittee", "torch", "gpytorch", "numpy", "scipy", "scikit-learn", "GPy")
PEAK_MEMORY = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")
GIBIBYTE = 2**30


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


def forget_peak_memory() -> None:
    """Start measuring peak memory afresh, where the system lets a process do so."""
    with suppress(OSError):
        FORGET_PEAK.write_text("5", encoding="ascii")


def peak_memory_gib() -> float | None:
    """Most memory resident since ``forget_peak_memory``; None where the system does not tell."""
    try:
        lines = PEAK_MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / GIBIBYTE for line in lines if line.startswith("VmHWM")), None)


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
