"""Work against matrix products, interleaved, in processor time of one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpcommittee.engines import one_blas_thread
from gpcommittee.planning.rate import measure_dgemm_rate


@dataclass(frozen=True)
class Shares:
    """Repeated measurements of one piece of work.

    Attributes
    ----------
    shares : tuple of float
        Operations per second over the matrix-product rate just before and after, one per repeat.
    cpu_seconds : tuple of float
    gflops : tuple of float
        Matrix-product rates, 10^9 operations per second, one more than there are repeats.
    """

    shares: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    gflops: tuple[float, ...]

    def summary(self) -> dict[str, float | int]:
        """Median share with its range, ready for JSON."""
        return {
            "share": float(np.median(self.shares)),
            "least": min(self.shares),
            "most": max(self.shares),
            "cpu_seconds": float(np.median(self.cpu_seconds)),
            "dgemm_gflops": float(np.median(self.gflops)),
            "repeats": len(self.shares),
        }


def shares_of_dgemm(work: Callable[[], object], flops: float, repeats: int) -> Shares:
    """Run ``work`` once unmeasured, then between measurements of the matrix-product rate.

    Parameters
    ----------
    work : callable
        Runs on the calling thread alone.
    flops : float
        Operations it is counted as.
    repeats : int
    """
    with one_blas_thread():
        work()
        rates, seconds = [measure_dgemm_rate(1)], []
        for _ in range(repeats):
            start = time.thread_time()
            work()
            seconds.append(time.thread_time() - start)
            rates.append(measure_dgemm_rate(1))
    around = [0.5 * (before + after) for before, after in pairwise(rates)]
    return Shares(
        tuple(flops / s / rate for s, rate in zip(seconds, around, strict=True)),
        tuple(seconds),
        tuple(rate / 1e9 for rate in rates),
    )
