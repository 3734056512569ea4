"""Tasks on a Dask cluster: pure functions, tried again a bounded number of times, with errors of this package's family.

What a task works on is the result of another task, so that Dask makes it again if the worker that held it is lost; the
small inputs of the first tasks are part of the tasks themselves.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gpcommittee.distributed import RETRIES, checked_client
from gpcommittee.distributed.cluster import failure, worker_slots
from gpcommittee.engines import one_blas_thread
from gpcommittee.errors import GPCommitteeError, WorkerError
from gpcommittee.prediction import usable_memory

if TYPE_CHECKING:
    from distributed import Client, Future

Value = TypeVar("Value")

LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


WATCH_SECONDS = 2.0
"""How often it is looked whether a worker that tasks are pinned to is gone."""


@dataclass(frozen=True)
class Call:
    """A task yet to be started.

    Attributes
    ----------
    about : str
        What it is about, for messages.
    function : callable
    arguments : tuple
    rows : distributed.Future or None
        The argument that it should not be parted from.
    """

    about: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rows: Future[Any] | None = None


@dataclass(frozen=True)
class Refusal:
    """An error that would come again, as a result: it is not tried again."""

    error: GPCommitteeError


class Cluster:
    """A Dask client as this package uses it.

    Parameters
    ----------
    client : dask.distributed.Client
    retries : int
        How often a task that fails is tried again.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    InvalidParameterError
        If it is no client, or its cluster cannot work.
    """

    def __init__(self, client: Any, retries: int = RETRIES) -> None:
        self.client: Client = checked_client(client)
        self.retries = retries

    @property
    def n_threads(self) -> int:
        """Threads of all workers at hand, at least 1."""
        return max(1, len(worker_slots(self.client)))

    def memory_per_thread(self) -> float:
        """Bytes of the least memory that a worker has for each thread; without a limit, of a machine like this one."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        own = usable_memory()
        return float(min((worker["memory_limit"] or own) / worker["nthreads"] for worker in workers))

    def submit(
        self,
        work: str,
        about: str,
        function: Callable[..., Any],
        *arguments: Any,
        near: str | None = None,
        strictly: bool = False,
    ) -> Future[Any]:
        """Start a task.

        Parameters
        ----------
        work : str
            One word for all tasks of a kind, by which Dask counts them.
        about : str
            What it is about, such as "experts 17 to 32", for messages.
        function : callable
            Of a module, so that workers can import it.
        *arguments
            Values, or futures whose results they are.
        near : str, optional
            Address of the worker that should run it.
        strictly : bool
            Whether no other will do.

        Returns
        -------
        distributed.Future
            Of the function's value, or of a refusal.
        """
        return self.client.submit(
            _guarded,
            about,
            function,
            *arguments,
            key=(f"{work}-{uuid.uuid4().hex}", about),
            pure=False,
            retries=self.retries,
            workers=None if near is None else [near],
            allow_other_workers=near is not None and not strictly,
        )

    def run_where_rows_are(self, work: str, calls: Sequence[Call]) -> list[Any]:
        """Values of tasks that run where their rows lie, so that these are not moved every time.

        A worker that has more than its share of them gives the others away, and one that is lost is replaced.

        Parameters
        ----------
        work : str
            One word for all of them.
        calls : sequence of Call

        Returns
        -------
        list
            In their order.

        Raises
        ------
        GPCommitteeError, WorkerError
            As in ``results``.
        """
        places = self._places(calls)
        futures = [
            self.submit(work, call.about, call.function, *call.arguments, near=place, strictly=place is not None)
            for call, place in zip(calls, places, strict=True)
        ]
        while not self._all_ended(futures):
            alive = set(worker_slots(self.client))
            for i, place in enumerate(places):
                if place is not None and place not in alive and not futures[i].done():
                    places[i] = None
                    futures[i] = self.submit(work, calls[i].about, calls[i].function, *calls[i].arguments)
        return self.results(futures)

    def _places(self, calls: Sequence[Call]) -> list[str | None]:
        """The worker that holds the rows of each, but no worker more than its share."""
        alive = worker_slots(self.client)
        holders = self.client.who_has([call.rows for call in calls if call.rows is not None])
        free = Counter({address: 1 + math.ceil(len(calls) * n / len(alive)) for address, n in Counter(alive).items()})
        places: list[str | None] = []
        for call in calls:
            known = () if call.rows is None else holders.get(call.rows.key, ())
            place = max(known, key=lambda address: free[address], default=None)
            if place is not None and free[place] > 0:
                free[place] -= 1
                places.append(place)
            else:
                places.append(None)
        return places

    def _all_ended(self, futures: Sequence[Future[Any]]) -> bool:
        """Whether all did within a while, or one failed."""
        from distributed import wait

        try:
            wait(list(futures), timeout=WATCH_SECONDS)
        except TimeoutError:
            return any(future.status == "error" for future in futures)
        return True

    def keep(self, work: str, value: Any) -> Future[Any]:
        """A value on the cluster, for many tasks."""
        return self.submit(work, work, _as_it_is, value)

    def kept(self, work: str, value: Any) -> Future[Any]:
        """The same of a value that may be there already, as a future."""
        from distributed import Future

        if isinstance(value, Future):
            return value
        with large_tasks():
            return self.keep(work, value)

    def results(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """Values of tasks, in their order.

        Raises
        ------
        GPCommitteeError
            As the first task raised it.
        WorkerError
            If a task failed for good, naming what it was about and a worker.
        """
        try:
            values = list(self.client.gather(list(futures)))
        except GPCommitteeError:
            raise
        except Exception as error:
            raise WorkerError(failure(_about(futures, error), error)) from error
        for value in values:
            if isinstance(value, Refusal):
                raise value.error
        return values

    def result(self, future: Future[Any]) -> Any:
        """The value of one task, as in ``results``."""
        return self.results([future])[0]


@contextmanager
def large_tasks() -> Iterator[None]:
    """A block in which tasks that hold rows are sent: Dask warns of some megabytes."""
    import dask

    with dask.config.set({LARGE_GRAPH: "1PiB"}):
        yield


def _guarded(about: str, function: Callable[..., Value], *arguments: Any) -> Value | Refusal:
    """Run a task with one BLAS thread; what a task before it refused is passed on."""
    for argument in arguments:
        if isinstance(argument, Refusal):
            return argument
    try:
        with one_blas_thread():
            return function(*arguments)
    except GPCommitteeError as error:
        return Refusal(error)
    except Exception as error:
        from distributed import get_worker

        raise WorkerError(
            f"Work on {about} failed on worker {get_worker().address}: {type(error).__name__}: {error}. Look at its "
            "log; all workers need the same versions of gpcommittee and its dependencies."
        ) from error


def _as_it_is(value: Value) -> Value:
    return value


def _about(futures: Sequence[Future[Any]], error: Exception) -> str:
    key = getattr(error, "task", futures[0].key if len(futures) == 1 else None)
    return f"Work on {key[1]}" if isinstance(key, tuple) and len(key) == 2 else "The work"
