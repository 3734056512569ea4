from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpcommittee.padding import LEAST_FILL, MOST_TOGETHER, Padding, batches


@given(st.lists(st.integers(1, 60), max_size=150), st.floats(0, 1e5))
def test_every_expert_is_in_one_batch_that_fits_the_memory(sizes: list[int], memory: float) -> None:
    found = batches(sizes, lambda size: float(size**2), memory)
    assert sorted(number for batch in found for number in batch) == list(range(len(sizes)))
    for batch in found:
        rows = [sizes[number] for number in batch]
        assert len(batch) <= MOST_TOGETHER
        assert min(rows) >= LEAST_FILL * max(rows)
        assert len(batch) == 1 or len(batch) * max(rows) ** 2 <= memory


def test_without_memory_for_it_experts_go_one_by_one_in_their_order() -> None:
    assert batches([5, 9, 5], float, 0.0) == [[0], [1], [2]]


def test_experts_of_one_size_keep_their_order() -> None:
    assert batches([20, 21, 20, 4, 21, 20], float, 1e9) == [[1, 4, 0, 2, 5], [3]]
    assert batches([20] * 5, float, 40.0) == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("sizes", [(3, 5, 4), (5, 5)])
def test_stacked_blocks_come_back(sizes: tuple[int, ...], device: torch.device) -> None:
    blocks = [torch.randn(size, 2, dtype=torch.float64, device=device) for size in sizes]
    padding = Padding.of(blocks)
    stacked = padding.stack(blocks)
    assert stacked.shape == (len(sizes), 5, 2)
    for block, back in zip(blocks, padding.unstack(stacked), strict=True):
        assert torch.equal(back, block)
    assert torch.equal(stacked[0, sizes[0] :], blocks[0][-1:].expand(5 - sizes[0], 2))


def test_padding_has_variance_one_and_no_covariance(device: torch.device) -> None:
    padding = Padding((2, 4, 3))
    covariance = torch.full((3, 4, 4), 7.0, device=device)
    assert padding.mean_of_diagonal(covariance).tolist() == [7.0, 7.0, 7.0]
    padding.detach(covariance)
    for one, size in zip(covariance, padding.sizes, strict=True):
        expected = torch.eye(4, device=device)
        expected[:size, :size] = 7.0
        assert torch.equal(one, expected)
    assert padding.clear_diagonal(covariance)[0].tolist()[2:] == [[0.0] * 4] * 2


def test_columns_of_padding_are_cleared_at_every_depth() -> None:
    padding = Padding((1, 3))
    assert padding.clear(torch.ones(2, 3)).tolist() == [[1, 0, 0], [1, 1, 1]]
    assert padding.clear(torch.ones(2, 2, 3))[0].tolist() == [[1, 0, 0]] * 2


def test_factors_are_filled_up_by_the_identity() -> None:
    factors = [torch.full((1, 1), 2.0), torch.full((2, 2), 3.0).tril()]
    stacked = Padding((1, 2)).stack_lower(factors)
    assert stacked[0].tolist() == [[2, 0], [0, 1]]
    for factor, back in zip(factors, Padding((1, 2)).unstack_lower(stacked), strict=True):
        assert torch.equal(back, factor)
