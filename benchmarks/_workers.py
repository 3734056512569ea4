"""Worker processes of Dask on this machine."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WORKERS = 2


def _import() -> None:
    importlib.import_module("gpcommittee")


@contextmanager
def workers(memory_limit: str = "auto") -> Iterator[Any]:
    """A client of worker processes with one thread each, the library imported there."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(_import)
        yield client
