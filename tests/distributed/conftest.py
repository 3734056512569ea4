"""A cluster of two worker processes for each module of tests."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest


def _import() -> None:
    importlib.import_module("gpcommittee.distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install gpcommittee[dask]")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", scheduler_kwargs={"dashboard": False}
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_import)  # seconds, that no test should be blamed for
        yield client
