from __future__ import annotations

from mmap import PAGESIZE
from pathlib import Path

import pytest
import torch

from gpcommittee.engines import allocator

STATUS = Path("/proc/self/statm")
N_MATRICES, SIZE = 400, 12_000


def resident_bytes() -> int:
    return int(STATUS.read_text(encoding="ascii").split()[1]) * PAGESIZE


@pytest.mark.skipif(allocator.glibc() is None or not STATUS.exists(), reason="not glibc on Linux")
def test_memory_freed_between_matrices_that_stay_is_given_back() -> None:
    matrices = [torch.ones(SIZE, dtype=torch.float64) for _ in range(N_MATRICES)]
    stay = matrices[::2]
    before = resident_bytes()
    del matrices
    allocator.give_back_freed_memory()
    freed = 8 * SIZE * (N_MATRICES - len(stay))
    assert before - resident_bytes() > freed / 2


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "glibc", lambda: None)
    allocator.give_back_freed_memory()
