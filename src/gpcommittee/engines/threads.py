"""Tasks on a pool of threads. PyTorch releases the interpreter lock, so experts run in parallel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

import torch

from gpcommittee.engines.blas import one_blas_thread
from gpcommittee.engines.protocol import Item, Result

IN_FLIGHT_PER_WORKER = 2
"""Tasks running or waiting to be taken, per worker: enough to keep workers busy, few enough to bound memory."""


class ThreadEngine:
    """Runs tasks on ``n_workers`` threads.

    Parameters
    ----------
    n_workers : int
    """

    batch_memory = 0.0

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

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
        remaining = iter(items)
        with (
            one_blas_thread(),
            ThreadPoolExecutor(self.n_workers, initializer=torch.set_num_threads, initargs=(1,)) as pool,
        ):
            try:
                first = islice(remaining, IN_FLIGHT_PER_WORKER * self.n_workers)
                waiting: deque[Future[Result]] = deque(pool.submit(function, item) for item in first)
                while waiting:
                    yield waiting.popleft().result()
                    waiting.extend(pool.submit(function, item) for item in islice(remaining, 1))
            finally:
                pool.shutdown(cancel_futures=True)
