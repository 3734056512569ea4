from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpcommittee.aggregation import make_rule
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.planning.case import Case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS
from gpcommittee.planning.nested import COMBINED_ENTRY, PAIR_ENTRY, nested_chunk, nested_work

CASE = Case(
    sizes=np.array([100.0, 200.0, 300.0]),
    n_features=2,
    n_test=1500,
    itemsize=8,
    n_workers=1,
    rule=make_rule("npae"),
    kernel="matern32",
    budget=1e9,
)
SQUARES = 100**2 + 200**2 + 300**2
PAIRS = 100 * 200 + 100 * 300 + 200 * 300


def test_every_pair_of_experts_is_multiplied_at_every_test_point() -> None:
    work = nested_work(CASE)
    assert work.products == 1500 * 2 * PAIRS + 2 * 2 * 2 * PAIRS
    assert work.solves == 1500 * 2 * SQUARES
    assert work.factorisations == 1500 * 3**3 / 3
    assert work.n_tasks == 2
    assert work.call_seconds == pytest.approx(2 * (3 + 3) * CALL_SECONDS)


def test_the_experts_together_take_the_square_of_the_rows() -> None:
    work = nested_work(CASE)
    assert 1500 * 600**2 < work.flops < 1.5 * 1500 * 600**2


def test_passes_over_memory_are_counted() -> None:
    value = KERNEL_COSTS["matern32"].value
    pair_rows = 100 * 2 + 200 * 1
    assert nested_work(CASE).entries == pytest.approx(
        1500 * (value * 600 + PAIR_ENTRY * pair_rows + COMBINED_ENTRY * 9) + 2 * value * PAIRS
    )


def test_a_tight_budget_makes_smaller_chunks_and_more_calls() -> None:
    tight = replace(CASE, budget=16e6)
    assert nested_chunk(tight) < nested_chunk(CASE) == 1024
    assert nested_work(tight).call_seconds > nested_work(CASE).call_seconds


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(MemoryBudgetError, match="NPAE needs"):
        nested_work(replace(CASE, budget=1e6))
