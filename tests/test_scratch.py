from __future__ import annotations

import pytest
import torch

from gpcommittee.scratch import Scratch, ScratchPool

LIKE = torch.empty(0, dtype=torch.float64)


def test_memory_of_a_name_is_used_again() -> None:
    scratch = Scratch()
    large = scratch.take("a", (4, 5), LIKE)
    assert scratch.take("a", (2, 3), LIKE).data_ptr() == large.data_ptr()
    assert scratch.take("b", (4, 5), LIKE).data_ptr() != large.data_ptr()
    assert scratch.take("a", (4, 5), LIKE.float()).dtype == torch.float32


def test_a_part_has_memory_of_its_own() -> None:
    scratch = Scratch()
    whole, part = scratch.take("a", (3,), LIKE), scratch.part("p").take("a", (3,), LIKE)
    assert part.data_ptr() != whole.data_ptr()
    assert scratch.part("p").take("a", (3,), LIKE).data_ptr() == part.data_ptr()


def test_tasks_that_run_at_once_have_memory_of_their_own() -> None:
    pool = ScratchPool()
    with pool.borrow() as first, pool.borrow() as second:
        assert first is not second
    with pool.borrow() as again:
        assert again in (first, second)


def test_memory_comes_back_from_a_task_that_failed() -> None:
    pool = ScratchPool()
    with pytest.raises(ZeroDivisionError), pool.borrow() as first:
        raise ZeroDivisionError
    with pool.borrow() as again:
        assert again is first
