"""One BLAS thread per worker, and the caller's setting restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run PyTorch with one thread in this block: parallelism is over experts, and numbers do not depend on threads.

    Inside another such block it changes nothing: what ends it late, as an iterator that is dropped, must not undo what
    the outer one restored.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
