"""What every engine offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """Runs tasks, each with one BLAS thread, and yields their results in the order of the items."""

    @property
    def n_workers(self) -> int:
        """Tasks that run at the same time."""
        ...

    @property
    def batch_memory(self) -> float:
        """Bytes that the experts of one task may take together; 0 where a task takes them one by one."""
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items, at most a few per worker waiting to be taken.

        Parameters
        ----------
        function : callable
            Takes an item; an error that it raises ends the iteration.
        items : iterable

        Yields
        ------
        object
            ``function(item)`` for each item.
        """
        ...
