from __future__ import annotations

import torch

from gpcommittee.scratch import Scratch

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
