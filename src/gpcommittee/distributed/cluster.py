"""The user's Dask client: checked before work starts, and its failures in this package's words."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from gpcommittee.errors import GPCommitteeError, InvalidParameterError, MissingDependencyError, WorkerError

if TYPE_CHECKING:
    from distributed import Client, Future

RETRIES = 3
"""How often a task that fails is tried again. A task whose worker died is moved to another one as often as Dask's
``distributed.scheduler.allowed-failures`` says, 3 times by default."""

WAIT_SECONDS = 60
"""How long to wait for a worker where there is none, of a cluster that is still starting or has lost all of them."""

WATCH_SECONDS = 2.0
"""How often it is looked whether there are workers while work is waited for."""


def require_dask() -> None:
    """Raise MissingDependencyError unless Dask is installed with its distributed scheduler."""
    try:
        importlib.import_module("dask")
        importlib.import_module("distributed")
    except ImportError as error:
        raise MissingDependencyError(
            f"Work on a cluster needs Dask, which is not installed ({error}). Install it by pip install "
            '"gpcommittee[dask]".'
        ) from error


def checked_client(client: Any) -> Client:
    """The client itself, if it is one and its cluster can work.

    Raises
    ------
    MissingDependencyError
        Dask is not installed.
    InvalidParameterError
        Not a `distributed.Client`, or an asynchronous or closed one, or a cluster without workers.
    """
    require_dask()
    from distributed import Client

    if not isinstance(client, Client):
        raise InvalidParameterError(
            f"A dask.distributed.Client is needed, got {type(client).__name__}. Make one by Client(address), or by "
            "Client() for processes on this machine."
        )
    if client.asynchronous:
        raise InvalidParameterError(
            "The Dask client is asynchronous; make one by Client(address) without asynchronous=True."
        )
    if client.status != "running":
        raise InvalidParameterError(
            f"The Dask client is {client.status}, not running. Connect again by Client(address) and pass the new one "
            "by set_params(engine=client), or None for this machine."
        )
    return _with_workers(client)


def worker_slots(client: Client) -> list[str]:
    """Addresses of the workers at hand, sorted, each as often as it has threads."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    return [address for address in sorted(workers) for _ in range(workers[address]["nthreads"])]


def gathered(client: Client, futures: Sequence[Future[Any]], what: str) -> list[Any]:
    """Results of futures, in their order.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future
    what : str
        The work, for messages.

    Raises
    ------
    GPCommitteeError
        As the tasks raised it.
    WorkerError
        Any other failure, after all retries.
    """
    try:
        return values_of(client, futures)
    except GPCommitteeError:
        raise
    except Exception as error:
        raise WorkerError(failure(what, error)) from error


def values_of(client: Client, futures: Sequence[Future[Any]]) -> list[Any]:
    """Results of futures, in their order, as the client has them.

    Raises
    ------
    WorkerError
        As in ``until_ended``.
    """
    for _ in until_ended(client, futures):
        pass
    return list(client.gather(list(futures)))


def until_ended(client: Client, futures: Sequence[Future[Any]]) -> Iterator[None]:
    """Wait until all tasks ended or one failed; yields now and then meanwhile.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future
        May be changed meanwhile.

    Raises
    ------
    WorkerError
        If there has been no worker for a minute.
    """
    alone = 0.0
    while not _ended(client, futures):
        alone = 0.0 if worker_slots(client) else alone + WATCH_SECONDS
        if alone > WAIT_SECONDS:
            raise WorkerError(
                f"The Dask cluster has lost all of its workers, and for {WAIT_SECONDS} s there was no new one"
                f"{_waiting(futures)}. Look at their logs; usually their memory is too small. A fit with a checkpoint "
                "goes on when there are some."
            )
        yield


def _waiting(futures: Sequence[Future[Any]]) -> str:
    """What tasks that wait are about, where their keys tell it."""
    told = [about_of(future.key) for future in futures if not future.done()]
    names = [name for name in told if name is not None]
    return f", while {' and '.join(names[:3])} waited" if names else ""


def about_of(key: object) -> str | None:
    """What a task is about, if its key is a pair of a name and that."""
    return key[1] if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str) else None


def free_to_move(client: Client, futures: Sequence[Future[Any]]) -> None:
    """Wait for tasks that were given a place, and let any worker make them again if that one is lost.

    Dask allows it in any case where other workers are allowed, but forgets that for tasks that find no worker at all.

    Parameters
    ----------
    client : distributed.Client
    futures : sequence of distributed.Future

    Raises
    ------
    WorkerError
        As in ``until_ended``.
    """
    for _ in until_ended(client, futures):
        pass
    client.run_on_scheduler(_forget_places, [future.key for future in futures])


def _forget_places(keys: Sequence[Any], dask_scheduler: Any) -> None:
    for key in keys:
        if key in dask_scheduler.tasks:
            dask_scheduler.tasks[key].worker_restrictions = None


def _ended(client: Client, futures: Sequence[Future[Any]]) -> bool:
    """Whether all tasks did within a while, or one failed."""
    from distributed import wait

    try:
        with client.as_current():
            wait(list(futures), timeout=WATCH_SECONDS)
    except TimeoutError:
        return any(future.status == "error" for future in futures)
    except CancelledError:
        return True
    return True


def failure(what: str, error: Exception) -> str:
    """What failed for good, and what to do, for a message."""
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        worker = getattr(error.last_worker, "address", error.last_worker)
        return (
            f"{what} failed: every worker that tried it died, the last one {worker}. Usually a worker's memory is too "
            "small: look at the workers' logs, and give them more memory or the cluster more workers."
        )
    if isinstance(error, CancelledError):
        return (
            f"{what} was cancelled, or the rows that it needs: {' '.join(str(error).split())} After a restart of the "
            "client a fit has to be made again; a checkpoint spares its evaluations."
        )
    return (
        f"{what} failed on the cluster, {RETRIES} retries included: {type(error).__name__}: {error}. Look at the logs "
        "of scheduler and workers; all of them need the same versions of gpcommittee and its dependencies."
    )


def _with_workers(client: Client) -> Client:
    """Wait for the first worker, with a task to do: an adaptive cluster starts workers for tasks alone."""
    from distributed import TimeoutError as WaitedInVain

    if worker_slots(client):
        return client
    reason = client.submit(int, pure=False)
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except (TimeoutError, WaitedInVain) as error:
        raise InvalidParameterError(
            f"The Dask cluster has no workers after {WAIT_SECONDS} s. Start some, and check that they reach its "
            "scheduler."
        ) from error
    finally:
        reason.cancel()
    return client
