"""Tasks on a Dask cluster: pure functions, tried again a bounded number of times, with errors of this package's family.

What a task works on is the result of another task, so that Dask makes it again if the worker that held it is lost; the
small inputs of the first tasks are part of the tasks themselves.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from gpcommittee.cluster.allocator import freed_memory_kept
from gpcommittee.distributed import RETRIES, checked_client
from gpcommittee.distributed.cluster import about_of, failure, until_ended, values_of, worker_slots
from gpcommittee.engines import one_blas_thread
from gpcommittee.errors import GPCommitteeError, WorkerError
from gpcommittee.prediction import usable_memory

if TYPE_CHECKING:
    from distributed import Client, Future

Value = TypeVar("Value")

LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


PATIENCE = 1.25
"""Times its share of the work, and one call more, that a worker gets before it gives rows away: to move them every time
costs more than to wait."""


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
    work : int
        How much it is, such as a number of experts.
    """

    about: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rows: Future[Any] | None = None
    work: int = 1


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
        return float(min(((worker["memory_limit"] or own) / worker["nthreads"] for worker in workers), default=own))

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

    def run_where_rows_are(self, work: str, calls: Sequence[Call], most_work: int) -> list[Any]:
        """Values of tasks that run where their rows lie, so that these are not moved every time.

        A worker that holds more than its share of them gives the others away, and one that is lost is replaced.

        Parameters
        ----------
        work : str
            One word for all of them.
        calls : sequence of Call
        most_work : int
            Work of several calls that a worker may be handed as one task.

        Returns
        -------
        list
            In their order.

        Raises
        ------
        GPCommitteeError, WorkerError
            As in ``results``.
        """
        slots = Counter(worker_slots(self.client))
        bundles = _bundles(self._places(calls, slots), [call.work for call in calls], slots, most_work)
        places = [place for place, _ in bundles]
        futures = [self._hand_out(work, [calls[i] for i in numbers], place) for place, numbers in bundles]
        for _ in until_ended(self.client, futures):
            alive = set(worker_slots(self.client))
            for k, (place, numbers) in enumerate(bundles):
                if places[k] is not None and place not in alive and not futures[k].done():
                    places[k] = None
                    futures[k] = self._hand_out(work, [calls[i] for i in numbers], None)
        values: list[Any] = [None] * len(calls)
        for (_, numbers), found in zip(bundles, self.results(futures), strict=True):
            for i, value in zip(numbers, found, strict=True):
                values[i] = value
        return values

    def _hand_out(self, work: str, calls: Sequence[Call], place: str | None) -> Future[Any]:
        """Start a task of several calls."""
        about = ", ".join(call.about for call in calls)
        steps = [(call.about, call.function, *call.arguments) for call in calls]
        return self.submit(work, about, _in_turn, *steps, near=place, strictly=place is not None)

    def _places(self, calls: Sequence[Call], slots: Mapping[str, int]) -> list[str | None]:
        """A worker for each: one that holds its rows and has not got far more than its share, or the one with least.

        Rows that are moved for the sake of balance may be moved again the next time, as Dask drops copies. None where
        there is no worker.
        """
        holders = self.client.who_has([call.rows for call in calls if call.rows is not None])
        work = [call.work for call in calls]
        share = PATIENCE * sum(work) / max(1, sum(slots.values()))
        free = {address: share * n + max(work, default=0) for address, n in slots.items()}

        def taken(call: Call, addresses: Iterable[str]) -> str | None:
            place = max(addresses, key=free.__getitem__, default=None)
            if place is not None:
                free[place] -= call.work
            return place

        places: list[str | None] = []
        for call in calls:
            known = () if call.rows is None else holders.get(call.rows.key, ())
            places.append(taken(call, [address for address in known if free.get(address, 0.0) > 0]))
        return [place or taken(call, free) for place, call in zip(places, calls, strict=True)]

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
            values = values_of(self.client, futures)
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


def _bundles(
    places: Sequence[str | None], work: Sequence[int], slots: Mapping[str, int], most_work: int
) -> list[tuple[str | None, list[int]]]:
    """Numbers of calls that are handed out as one task, with their place.

    A worker gets two tasks or more for each of its threads, if it has as many calls.

    Examples
    --------
    >>> _bundles(["a", "b", "a", "a", "a", "b"], [1, 1, 1, 2, 1, 1], {"a": 1, "b": 1}, 8)
    [('a', [0, 2]), ('a', [3]), ('a', [4]), ('b', [1]), ('b', [5])]
    """
    found: list[tuple[str | None, list[int]]] = []
    for place in dict.fromkeys(places):
        numbers = [i for i, one in enumerate(places) if one == place]
        n_threads = slots.get(place, 1) if place is not None else 1
        left, most = 0, min(most_work, sum(work[i] for i in numbers) // (2 * n_threads))
        for i in numbers:
            if work[i] > left:
                found.append((place, []))
                left = most
            found[-1][1].append(i)
            left -= work[i]
    return found


def _in_turn(*steps: tuple[Any, ...]) -> list[Any] | Refusal:
    """Run several calls, up to the first that is refused."""
    values = []
    for step in steps:
        value = _guarded(*step)
        if isinstance(value, Refusal):
            return value
        values.append(value)
    return values


def _guarded(about: str, function: Callable[..., Value], *arguments: Any) -> Value | Refusal:
    """Run a task with one BLAS thread and memory of its own; what a task before it refused is passed on."""
    for argument in arguments:
        if isinstance(argument, Refusal):
            return argument
    try:
        with one_blas_thread(), freed_memory_kept():
            return function(*arguments)
    except WorkerError:
        raise
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
    about = about_of(getattr(error, "task", futures[0].key if len(futures) == 1 else None))
    return "The work" if about is None else f"Work on {about}"
