"""Where a benchmark ran: date, machine and library versions, for the foot of every result."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

LIBRARIES = ("torch", "gpytorch", "numpy", "scipy", "scikit-learn")
CPU_INFO = Path("/proc/cpuinfo")


def provenance() -> str:
    """One paragraph of Markdown."""
    versions = ", ".join(f"{name} {version_of(name)}" for name in LIBRARIES)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}; {processor()}, {cores()} cores, {memory_gib():.0f} GiB of memory; "
        f"{platform.system()} {platform.machine()}; {blas()}; gpcommittee {version_of('gpcommittee')}, "
        f"Python {platform.python_version()}, {versions}."
    )


def processor() -> str:
    """Model name of the processor, as far as the system tells it."""
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown processor"


def cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def memory_gib() -> float:
    """Memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def blas() -> str:
    """Which BLAS PyTorch uses."""
    return "MKL" if torch.backends.mkl.is_available() else "no MKL"


def version_of(distribution: str) -> str:
    """Version of an installed library."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        import gpcommittee

        return gpcommittee.__version__ if distribution == "gpcommittee" else "unknown"
