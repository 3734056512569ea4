"""What work has cost: seconds, processor seconds and memory, as people say them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpcommittee.cli.work.talk import duration

BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


class Cost:
    """Collects what stages take."""

    def __init__(self) -> None:
        self._times: list[tuple[str, str]] = []

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Time a stage: by the clock, and of all processors together."""
        wall, processor = time.monotonic(), time.process_time()
        yield
        wall, processor = time.monotonic() - wall, time.process_time() - processor
        self._times.append((stage, f"{duration(wall)}, processor {duration(processor)}"))

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Stages with their times, and the most memory that this process has held so far."""
        return [*self._times, ("peak memory", peak_memory())]


def peak_memory() -> str:
    """Most memory that this process has held so far; unknown where the system does not tell."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return "unknown"
    return f"{BYTES_OF_MAXRSS * getrusage(RUSAGE_SELF).ru_maxrss / 1e9:.1f} GB"
