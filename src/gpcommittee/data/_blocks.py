"""Row blocks, so that a pass over a large or memory-mapped array needs little memory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

_BLOCK_VALUES = 2**18


def row_blocks(values: NDArray[Any]) -> Iterator[slice]:
    """Consecutive row ranges of about 2**18 values each."""
    n_columns = values.shape[1] if values.ndim > 1 else 1
    step = max(1, _BLOCK_VALUES // max(1, n_columns))
    for start in range(0, len(values), step):
        yield slice(start, min(start + step, len(values)))
