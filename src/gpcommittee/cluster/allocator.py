"""Memory that a task frees and needs again, where the C library is glibc.

Dask has its workers give freed memory back at once (MALLOC_TRIM_THRESHOLD_), so that what tasks leave behind does not
pile up. That also stops glibc from learning how large our matrices are, and every one of them comes fresh from the
system, page by page: a fifth of the work of a prediction. So memory is kept within a task, and given back at its end.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from gpcommittee.engines.allocator import glibc

THRESHOLDS = {"MALLOC_TRIM_THRESHOLD_": -1, "MALLOC_MMAP_THRESHOLD_": -3}
"""Numbers of glibc's parameters by the environment variables that set them."""

KEPT = 1 << 28
"""Bytes of freed memory that a task may keep, and of the largest matrix that may be made of it."""

USUAL = 1 << 17
"""glibc's own thresholds."""

_lock = Lock()
_tasks = 0


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """A task, or one of several at the same time, that uses again what it has freed."""
    library = glibc()
    if library is None:
        yield
        return
    _count(library, 1)
    try:
        yield
    finally:
        _count(library, -1)


def _count(library: ctypes.CDLL, change: int) -> None:
    """One task more or less; the first and the last of them set the thresholds."""
    global _tasks
    with _lock:
        before, _tasks = _tasks, _tasks + change
        if before == 0 or _tasks == 0:
            for name, number in THRESHOLDS.items():
                library.mallopt(number, KEPT if _tasks else _from_environment(name))
        if _tasks == 0:
            library.malloc_trim(0)


def _from_environment(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else USUAL
