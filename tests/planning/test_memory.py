from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpcommittee.aggregation import make_rule
from gpcommittee.planning.case import Case
from gpcommittee.planning.factors import FactorPlan
from gpcommittee.planning.memory import (
    ALLOCATOR_OVERHEAD,
    DIVIDING_VALUES,
    INTERPRETER_BYTES,
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
