"""Memory of this process. Imports nothing, so that it adds nothing to what it measures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")
GIBIBYTE = 2**30


def forget_peak_memory() -> None:
    """Start measuring peak memory afresh, where the system lets a process do so."""
    with suppress(OSError):
        FORGET_PEAK.write_text("5", encoding="ascii")


def peak_memory_gib() -> float | None:
    """Most memory resident since ``forget_peak_memory``; None where the system does not tell.

    Linux's own high-water mark, and not ``getrusage``'s: that one starts at what the parent held when it forked.
    """
    return _of_status("VmHWM")


def resident_memory_gib() -> float | None:
    """Memory resident now; None where the system does not tell."""
    return _of_status("VmRSS")


def _of_status(name: str) -> float | None:
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / GIBIBYTE for line in lines if line.startswith(name)), None)
