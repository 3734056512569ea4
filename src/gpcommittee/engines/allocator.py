"""The C library's allocator, where that is glibc: what it keeps of freed memory, and giving it back."""

from __future__ import annotations

import ctypes
import platform
from functools import cache


@cache
def glibc() -> ctypes.CDLL | None:
    """The C library, if it is one whose allocator can be told what to keep."""
    if platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def give_back_freed_memory() -> None:
    """Return freed memory to the system.

    Matrices freed by threads that have ended lie in heaps of their own, where matrices of other threads are not put:
    without this, a group of factors takes new memory beside that of the group before.
    """
    library = glibc()
    if library is not None:
        library.malloc_trim(0)
