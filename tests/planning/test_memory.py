from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpcommittee.aggregation import make_rule
from gpcommittee.kernels import KERNELS
from gpcommittee.planning.case import Case
from gpcommittee.planning.choosing import chooses
from gpcommittee.planning.factors import FactorPlan
from gpcommittee.planning.memory import (
    ALLOCATOR_OVERHEAD,
    DIVIDING_VALUES,
    INTERPRETER_BYTES,
    LIVE_ARRAYS,
    Memory,
    fit_memory,
    predict_memory,
)

CASE = Case(
    sizes=np.array([100.0, 200.0]),
    n_features=4,
    n_test=5000,
    itemsize=8,
    n_workers=2,
    rule=make_rule("grbcm"),
    kernel="squared_exponential",
    budget=1e9,
)
KEPT = FactorPlan(total=1e6, kept=True, n_groups=1, resident=1e6)
STREAMED = FactorPlan(total=1e6, kept=False, n_groups=2, resident=5e5)


def test_peak_is_the_sum_of_the_parts() -> None:
    assert Memory(1.0, 2.0, 3.0, 4.0, 5.0).peak == 15.0


def test_training_holds_two_copies_of_the_rows_and_the_gradients_of_all_workers() -> None:
    memory = fit_memory(CASE)
    assert memory == Memory(INTERPRETER_BYTES, 300 * (5 * 2 * 8 + 8), 0.0, 2 * 4 * 8 * 200**2, 0.0)


def test_training_given_the_communication_set_holds_its_matrices_beside_those_of_the_workers() -> None:
    large = replace(CASE, sizes=np.array([1000.0, 200.0, 200.0, 200.0]), objective="conditional")
    of_workers = 2 * (4 * 200**2 + 3 * 200 * 1000)
    assert fit_memory(large).workers == 8 * (of_workers + (5 + 3) * 1000**2)
    assert fit_memory(replace(large, n_workers=1)).workers == 8 * (of_workers / 2 + (5 + 1) * 1000**2)


def test_dividing_many_rows_among_small_experts_holds_two_copies_and_row_numbers() -> None:
    memory = fit_memory(replace(CASE, sizes=np.full(10_000, 10.0)))
    assert memory == Memory(INTERPRETER_BYTES, 100_000 * (5 * 2 * 8 + DIVIDING_VALUES * 8), 0.0, 0.0, 0.0)


def test_clusters_are_found_in_a_copy_of_the_inputs() -> None:
    tree, kmeans = (replace(CASE, sizes=np.full(10_000, 10.0), partition=name) for name in ("tree", "kmeans"))
    assert fit_memory(kmeans).data - fit_memory(tree).data == 100_000 * 4 * 8
    assert fit_memory(replace(CASE, partition="kmeans")) == fit_memory(CASE)


def test_a_table_takes_one_more_copy_of_the_inputs_during_the_fit_alone() -> None:
    for sizes in (CASE.sizes, np.full(10_000, 10.0)):
        case, table = replace(CASE, sizes=sizes), replace(CASE, sizes=sizes, from_table=True)
        assert fit_memory(table).data - fit_memory(case).data == sizes.sum() * 4 * 8
        assert predict_memory(table, KEPT) == predict_memory(case, KEPT)


def test_single_precision_halves_one_of_the_copies_while_training() -> None:
    assert fit_memory(replace(CASE, itemsize=4)).data == 300 * (5 * 8 + 5 * 4 + 8)


def test_workers_beyond_the_experts_hold_nothing_while_fitting() -> None:
    assert fit_memory(replace(CASE, n_workers=64)) == fit_memory(CASE)


def test_prediction_holds_rows_factors_chunks_and_results() -> None:
    memory = predict_memory(CASE, KEPT)
    assert memory.data == 300 * (5 * 2 * 8 + 8) + 5000 * 4 * 8
    assert memory.factors == ALLOCATOR_OVERHEAD * 1e6
    assert memory.workers == 2 * 8 * 1024 * (2 * 200 + 100)
    assert memory.results == 5000 * 9 * 8


def test_sums_wait_for_the_next_group_of_experts() -> None:
    assert predict_memory(CASE, STREAMED).results - predict_memory(CASE, KEPT).results == 5000 * 15 * 8


def test_large_experts_take_more_while_they_are_factored() -> None:
    large = replace(CASE, sizes=np.array([100.0, 3000.0]), n_test=10)
    assert predict_memory(large, KEPT).workers == 2 * 8 * 3 * 3000**2


def test_npae_holds_what_all_experts_see_of_a_chunk() -> None:
    nested = replace(CASE, rule=make_rule("npae"), sizes=np.array([900.0, 1000.0]))
    values = 1024 * (1900 + 3 * 1000 + 5 * 2**2) + 2 * 1000**2
    assert predict_memory(nested, KEPT).workers == 2 * 8 * values


def test_single_precision_halves_the_experts_arrays() -> None:
    single = replace(CASE, itemsize=4)
    assert fit_memory(single).workers == fit_memory(CASE).workers / 2
    assert predict_memory(single, KEPT).workers == predict_memory(CASE, KEPT).workers / 2


CHOOSING = replace(CASE, sizes=np.full(64, 500.0), n_test=100_000, n_features=3, tolerance=1e-3, budget=1e8)


WAITING = 8 * (500 + 3 + 24) + 64
"""Bytes of a point that waits for factors: what it knows of the communication rows, and a byte for each expert."""


def looking(n_points: int) -> int:
    """Bytes while points look at the experts, 8 of them with 64 rows each at a time."""
    return 8 * 8 * 64 * (500 + 3 * n_points) + n_points * (8 * 500 + 60 * 64)


def test_compressed_experts_and_what_waits_for_factors_are_held_to_a_tolerance() -> None:
    every, chosen = (predict_memory(replace(CHOOSING, tolerance=t), KEPT) for t in (0.0, 1e-3))
    maps = 64 * 65 + 32 * 32.5
    far_field = 64 * (64 * (3 + 500) + maps) * 8
    assert chosen.factors - every.factors == pytest.approx(ALLOCATOR_OVERHEAD * far_field)
    evaluating = 8 * 1024 * (2 * 500 + 2 * 500)
    assert chosen.workers == 2 * max(looking(1024), evaluating) + 1e8 / 8 + 16 * 1024 * WAITING
    assert (chosen.results, chosen.data, chosen.interpreter) == (every.results, every.data, every.interpreter)


def test_few_test_points_are_all_that_can_wait() -> None:
    one = replace(CHOOSING, n_test=1000, n_workers=1)
    assert predict_memory(one, KEPT).workers == max(looking(1000), 8 * 1000 * (2 * 500 + 2 * 500)) + 1000 * WAITING


@pytest.mark.parametrize(
    "settings",
    [
        {"tolerance": 0.0},
        {"sizes": np.full(49, 500.0)},
        {"itemsize": 4},
        {"n_test": 0},
        *({"rule": make_rule(name), "budget": 1e9} for name in ("gpoe", "npae", "communication", "barycenter")),
    ],
)
def test_where_experts_cannot_be_chosen_a_tolerance_takes_nothing(settings: dict[str, Any]) -> None:
    case = replace(CHOOSING, **settings)
    assert not chooses(case)
    assert predict_memory(case, KEPT) == predict_memory(replace(case, tolerance=0.0), KEPT)


@pytest.mark.parametrize("name", ["grbcm", "rbcm", "bcm"])
def test_rules_with_a_reference_choose(name: str) -> None:
    assert chooses(replace(CHOOSING, rule=make_rule(name)))


def test_what_no_communication_rows_are_coupled_to_is_smaller() -> None:
    grbcm, rbcm = (predict_memory(replace(CHOOSING, rule=make_rule(name)), KEPT) for name in ("grbcm", "rbcm"))
    assert grbcm.factors - rbcm.factors == pytest.approx(ALLOCATOR_OVERHEAD * 64 * 64 * 500 * 8)
    assert rbcm.workers < grbcm.workers


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_kernel_takes_less_than_the_squared_exponential(kernel: str) -> None:
    assert fit_memory(replace(CASE, kernel=kernel)).peak >= fit_memory(CASE).peak


def test_every_named_kernel_has_its_arrays_counted() -> None:
    assert LIVE_ARRAYS.keys() == KERNELS.keys()
