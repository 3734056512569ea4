"""Which worker gets which work, and what it does with memory meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from gpcommittee.cluster import allocator
from gpcommittee.cluster.tasks import Call, Cluster
from gpcommittee.engines.allocator import glibc


@dataclass(frozen=True)
class Rows:
    """Stands for a future."""

    key: str


class Holders:
    """A client that knows who has what."""

    def __init__(self, **holders: list[str]) -> None:
        self.holders = holders

    def who_has(self, futures: list[Rows]) -> dict[str, list[str]]:
        return {one.key: self.holders[one.key] for one in futures}


def places(calls: list[Call], slots: dict[str, int], **holders: list[str]) -> list[str | None]:
    cluster = Cluster.__new__(Cluster)
    cluster.client = Holders(**holders)  # type: ignore[assignment]
    return cluster._places(calls, slots)


def call(rows: str | None, work: int = 1) -> Call:
    return Call("", print, (), None if rows is None else Rows(rows), work)  # type: ignore[arg-type]


def test_work_stays_where_its_rows_are_until_a_worker_has_far_more_than_its_share() -> None:
    few = places([call(None), *[call("x")] * 5, call("y")], {"a": 1, "b": 1}, x=["a"], y=["b"])
    assert few == ["b", *["a"] * 5, "b"]
    many = places([call("x")] * 20, {"a": 1, "b": 1}, x=["a"])
    assert Counter(many) == {"a": 14, "b": 6}  # 1.25 times 10, and one more


def test_shares_go_by_threads_and_by_how_much_work_it_is() -> None:
    found = places([call("x", 4), *[call("x")] * 16], {"a": 1, "b": 3}, x=["a"])
    assert found == [*["a"] * 8, *["b"] * 9]
    assert places([call("x"), call("x")], {"a": 1, "b": 1}, x=["gone"]) == ["a", "b"]
    assert places([call("x"), call(None)], {}, x=[]) == [None, None]


def test_rows_that_lie_twice_are_used_where_there_is_less_to_do() -> None:
    assert Counter(places([call("x")] * 6, {"a": 1, "b": 1}, x=["a", "b"])) == {"a": 3, "b": 3}


class Library:
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def mallopt(self, number: int, value: int) -> None:
        self.told.append((number, value))

    def malloc_trim(self, left: int) -> None:
        self.told.append(("trim", left))


def test_memory_is_kept_from_the_first_task_to_the_end_of_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    library, kept = Library(), allocator.KEPT
    monkeypatch.setattr(allocator, "glibc", lambda: library)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    with allocator.freed_memory_kept():
        assert library.told == [(-1, kept), (-3, kept)]
        with pytest.raises(RuntimeError), allocator.freed_memory_kept():
            raise RuntimeError
        assert len(library.told) == 2
    assert library.told[2:] == [(-1, 65536), (-3, 1 << 17), ("trim", 0)]


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    glibc.cache_clear()
    with allocator.freed_memory_kept():
        assert glibc() is None
    glibc.cache_clear()
