"""A cluster of two worker processes for all tests that ask for it, and one of four."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gpcommittee.cluster import sharded


def _import() -> None:
    importlib.import_module("gpcommittee")


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install gpcommittee[dask]")
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", scheduler_kwargs={"dashboard": False}
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_import)  # seconds, that no test should be blamed for
        yield client


@pytest.fixture(autouse=True)
def shards_of_two_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small experts would all lie together."""
    monkeypatch.setattr(sharded, "MOST_TOGETHER", 2)


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    with _cluster(2) as two:
        yield two


@pytest.fixture(scope="module")
def four() -> Iterator[Any]:
    with _cluster(4) as four:
        yield four
