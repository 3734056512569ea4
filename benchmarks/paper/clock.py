"""Wall-clock and processor time of a piece of work."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Elapsed:
    """Seconds; ``cpu`` sums over all threads of this process."""

    wall: float
    cpu: float


def timed(work: Callable[[], Result]) -> tuple[Result, Elapsed]:
    """The result of ``work`` and the time it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Elapsed(time.perf_counter() - wall, time.process_time() - cpu)
