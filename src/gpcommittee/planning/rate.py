"""The machine's matrix-product rate: the unit in which all other work is counted."""

from __future__ import annotations

import statistics
import time
from functools import partial

import torch

from gpcommittee.engines import make_engine
from gpcommittee.precision import torch_dtype

PRODUCT_SIZE = 512
"""Rows of the product timed: about the default expert's, whose matrices stay in cache as the real ones do."""

CPU_SECONDS = 0.25
"""Processor time of the whole measurement, beyond the few products that every worker needs."""

FEWEST_PRODUCTS = 3

MOST_WORKERS = 8
"""Workers measured at the same time; more are taken to reach the same rate each."""


def measure_dgemm_rate(n_jobs: int | None = None, dtype: str = "float64") -> float:
    """Matrix-product rate of all workers together, each with one BLAS thread.

    Workers multiply at the same time and are timed by their own processor time, so that what neighbours on the machine
    take is left out, and what workers take from each other (shared cache, clock rate) is not. Takes less than half a
    second of processor time.

    Parameters
    ----------
    n_jobs : int, optional
        As in `CommitteeRegressor`. Workers beyond the processors of this process add nothing.
    dtype : {"float64", "float32"}

    Returns
    -------
    float
        Floating-point operations per second.

    Raises
    ------
    InvalidParameterError
        If ``n_jobs`` or ``dtype`` is not allowed.
    """
    chosen = torch_dtype(dtype)
    n_busy = min(make_engine(n_jobs).n_workers, make_engine(-1).n_workers)
    n_measured = min(n_busy, MOST_WORKERS)
    timed = partial(_worker_rate, chosen, CPU_SECONDS / n_measured)
    return n_busy * statistics.mean(make_engine(n_measured).map(timed, range(n_measured)))


def _worker_rate(dtype: torch.dtype, cpu_seconds: float, seed: int) -> float:
    matrix = torch.rand(PRODUCT_SIZE, PRODUCT_SIZE, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    result = matrix @ matrix
    seconds: list[float] = []
    while len(seconds) < FEWEST_PRODUCTS or sum(seconds) < cpu_seconds:
        start = time.thread_time()
        torch.mm(matrix, matrix, out=result)
        seconds.append(time.thread_time() - start)
    return 2.0 * PRODUCT_SIZE**3 / statistics.median(seconds)
