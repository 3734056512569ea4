from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from gpcommittee.engines import (
    Engine,
    SerialEngine,
    ThreadEngine,
    for_tasks_and_parts,
    make_engine,
    map_parts,
    one_blas_thread,
    total_memory,
)
from gpcommittee.engines.device import BATCH_SHARE
from gpcommittee.errors import InvalidParameterError

ENGINES = [SerialEngine(), ThreadEngine(2), ThreadEngine(5)]


@pytest.fixture(params=ENGINES, ids=lambda engine: f"{type(engine).__name__}-{engine.n_workers}")
def engine(request: pytest.FixtureRequest) -> Engine:
    result: Engine = request.param
    return result


@pytest.mark.parametrize("n", [0, 1, 3, 57])
def test_results_come_in_the_order_of_the_items(engine: Engine, n: int) -> None:
    assert list(engine.map(lambda i: i * i, range(n))) == [i * i for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 3, 57])
def test_parts_come_in_their_order(engine: Engine, n: int) -> None:
    assert map_parts(engine, lambda i: i * i, range(n)) == [i * i for i in range(n)]


@pytest.mark.parametrize(("n_tasks", "side_by_side"), [(0, "parts"), (1, "parts"), (4, "parts"), (5, "tasks")])
def test_parts_run_side_by_side_where_tasks_are_fewer_than_workers(n_tasks: int, side_by_side: str) -> None:
    tasks, parts = for_tasks_and_parts(ThreadEngine(5), n_tasks)
    assert (tasks.n_workers, parts.n_workers) == ((1, 5) if side_by_side == "parts" else (5, 1))


def test_one_worker_takes_parts_in_batches_as_it_takes_tasks() -> None:
    tasks, parts = for_tasks_and_parts(SerialEngine(3.0), 1)
    assert tasks.batch_memory == parts.batch_memory == 3.0


def test_tasks_run_with_one_thread_and_the_setting_is_restored(engine: Engine) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert set(engine.map(lambda _: torch.get_num_threads(), range(20))) == {1}
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_an_error_in_a_task_reaches_the_caller_and_restores_the_setting(engine: Engine) -> None:
    def fail_at_three(i: int) -> int:
        if i == 3:
            raise KeyError(i)
        return i

    torch.set_num_threads(2)
    try:
        results = engine.map(fail_at_three, range(10))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(KeyError):
            next(results)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_items_are_taken_as_results_are(engine: Engine) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(1000):
            taken.append(i)
            yield i

    results = engine.map(lambda i: i, items())
    next(results)
    assert len(taken) <= 2 * engine.n_workers + 1
    results.close()  # type: ignore[attr-defined]


def test_threads_are_used() -> None:
    barrier = threading.Barrier(3, timeout=20)
    assert len(list(ThreadEngine(3).map(lambda _: barrier.wait(), range(3)))) == 3


def test_one_blas_thread_restores_after_an_error() -> None:
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            _ = 1 / (torch.get_num_threads() - 1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_results_dropped_late_do_not_undo_what_was_restored(engine: Engine) -> None:
    torch.set_num_threads(2)
    try:
        with one_blas_thread():
            inner = engine.map(lambda i: i, range(3))
            next(inner)
        assert torch.get_num_threads() == 2
        inner.close()  # type: ignore[attr-defined]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_make_engine_counts_workers() -> None:
    processors = make_engine(-1).n_workers
    assert make_engine(1).n_workers == 1
    assert make_engine(4).n_workers == 4
    assert make_engine(-2).n_workers == max(1, processors - 1)
    assert make_engine(-1000).n_workers == 1
    assert make_engine(None).n_workers == torch.get_num_threads()


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_make_engine_refuses(n_jobs: object) -> None:
    with pytest.raises(InvalidParameterError, match="n_jobs must be None or a non-zero integer"):
        make_engine(n_jobs)  # type: ignore[arg-type]


def test_cuda_takes_experts_in_batches_within_its_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (6 * 2**30, 16 * 2**30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 3 * 2**30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2**30)
    engine = make_engine(4, torch.device("cuda"))
    assert engine.n_workers == 1
    assert engine.batch_memory == BATCH_SHARE * 8 * 2**30
    assert total_memory(torch.device("cuda")) == 16 * 2**30
    with pytest.raises(InvalidParameterError):
        make_engine(0, torch.device("cuda"))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_cpu_takes_experts_one_by_one(n_jobs: int) -> None:
    assert make_engine(n_jobs).batch_memory == make_engine(n_jobs, torch.device("cpu")).batch_memory == 0
