"""Tasks one after another in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpcommittee.engines.blas import one_blas_thread
from gpcommittee.engines.protocol import Item, Result


class SerialEngine:
    """Runs each task when its result is asked for.

    Parameters
    ----------
    batch_memory : float, default=0.0
        Bytes that the experts of one task may take together; 0: one expert at a time.
    """

    n_workers = 1

    def __init__(self, batch_memory: float = 0.0) -> None:
        self.batch_memory = batch_memory

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items.

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
        for item in items:
            with one_blas_thread():
                result = function(item)
            yield result
