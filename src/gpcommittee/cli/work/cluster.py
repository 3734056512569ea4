"""The Dask cluster that a command computes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpcommittee.distributed import require_dask
from gpcommittee.errors import InvalidParameterError

CONNECT_SECONDS = 30


@contextmanager
def dask_client(name: str | None) -> Iterator[Any]:
    """A client for the length of a command, None without a name.

    Parameters
    ----------
    name : str or None
        Address of a scheduler, or "local:N" for N processes of this machine.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    InvalidParameterError
        If there is no scheduler at the address.
    """
    if name is None:
        yield None
        return
    require_dask()
    if name.startswith("local:"):
        with _local(int(name.removeprefix("local:"))) as client:
            yield client
    else:
        with _connected(name) as client:
            yield client


def refuse_folder(data: Path, engine: Any) -> None:
    """Refuse a folder where there is no cluster to read it."""
    if data.is_dir() and engine is None:
        raise InvalidParameterError(
            f"'{data}' is a folder. The workers of a Dask cluster read folders of Parquet files: add --dask local:4, "
            "or --dask with the address of a scheduler."
        )


@contextmanager
def _local(n_workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with (
        LocalCluster(n_workers=n_workers, scheduler_kwargs={"dashboard": False}, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
        raise InvalidParameterError(
            f"There is no Dask scheduler at {address!r} ({error}). Start one with `dask scheduler`, or use "
            "--dask local:N."
        ) from error
