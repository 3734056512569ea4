from __future__ import annotations

import pytest

from gpcommittee.kernels import KERNELS
from gpcommittee.planning.cost import FACTORISATION_SHARE, KERNEL_COSTS, PRODUCT_SHARE, SOLVE_SHARE, Work


def test_seconds_divide_each_part_by_the_rate_it_reaches() -> None:
    work = Work(products=95.0, solves=50.0, factorisations=40.0, entries=100.0, call_seconds=3.0, n_tasks=4)
    expected = (95 / PRODUCT_SHARE + 50 / SOLVE_SHARE + 40 / FACTORISATION_SHARE + 100) / 10 + 3
    assert work.seconds(10.0, 2) == pytest.approx(expected)


def test_workers_without_a_task_wait() -> None:
    work = Work(products=0.0, solves=0.0, factorisations=0.0, entries=100.0, call_seconds=0.0, n_tasks=5)
    assert work.seconds(1.0, 5) == pytest.approx(100)
    assert work.seconds(1.0, 4) == pytest.approx(160)
    assert work.seconds(1.0, 10) == pytest.approx(200)


def test_every_named_kernel_has_a_cost() -> None:
    assert KERNEL_COSTS.keys() == KERNELS.keys()
