"""Workers that are killed while they work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gpcommittee.cluster import Cluster


def pids(client: Any) -> dict[str, int]:
    return dict(client.run(os.getpid))


@contextmanager
def killing_once(client: Any, count: Callable[[], int], at: int) -> Iterator[list[int]]:
    """Kill a worker process once a count is reached."""
    killed: list[int] = []
    victim, stop = min(pids(client).values()), threading.Event()

    def watch() -> None:
        while not stop.is_set() and not killed:
            if count() >= at:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
            time.sleep(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()
        client.wait_for_workers(2, timeout=180)


def counting(monkeypatch: pytest.MonkeyPatch, work: str) -> Callable[[], int]:
    """How many tasks of a kind were started."""
    started: list[str] = []
    submit = Cluster.submit

    def counted(self: Cluster, kind: str, *arguments: Any, **named: Any) -> Any:
        started.extend([kind] if kind == work else [])
        return submit(self, kind, *arguments, **named)

    monkeypatch.setattr(Cluster, "submit", counted)
    return lambda: len(started)
