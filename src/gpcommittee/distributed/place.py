"""One pass over the source: rows are read on the workers and stay; the client learns their number and scales."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.data.scaling import merged_standardisation
from gpcommittee.distributed.blocks import Summary, standardised, summarise
from gpcommittee.distributed.cluster import RETRIES, checked_client, gathered
from gpcommittee.distributed.source import RowSource
from gpcommittee.errors import GPCommitteeError, InvalidInputError
from gpcommittee.records import FloatArray, IntArray, Standardisation

if TYPE_CHECKING:
    from distributed import Client, Future

FEWEST_ROWS = 2
"""A standard deviation needs so many."""


@dataclass(frozen=True)
class PlacedBlocks:
    """Training rows on the workers, in blocks, one for each partition of their source; released with this record.

    Attributes
    ----------
    client : distributed.Client
    blocks : tuple of Future of Block
        Rows as they are in the source; what is made of them is standardised.
    starts : ndarray of int64, shape (n_blocks + 1,)
        Number of each block's first row, and the number of rows.
    source : RowSource
    scaling : Standardisation
        Means and scales of all rows.
    fingerprint : str
        Of all values and how they are divided into blocks.
    n_dropped : int
        Incomplete rows left out.
    """

    client: Client
    blocks: tuple[Future[Any], ...]
    starts: IntArray
    source: RowSource
    scaling: Standardisation
    fingerprint: str
    n_dropped: int

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])

    @property
    def n_features(self) -> int:
        return self.source.n_features


def place_rows(client: Any, source: RowSource) -> PlacedBlocks:
    """Read all partitions on the workers, check and count them, and standardise by the moments of all.

    The moments are merged in the order of the partitions, so they depend on neither the workers nor their number.

    Parameters
    ----------
    client : distributed.Client
    source : RowSource

    Returns
    -------
    PlacedBlocks

    Raises
    ------
    InvalidParameterError
        The client cannot work.
    InvalidInputError
        Values that are missing, infinite or no numbers, with partition or file and column; no rows, or one.
    WorkerError
        Partitions that no worker could read.
    """
    checked = checked_client(client)
    delayed = [source.delayed_block(number) for number in range(len(source.parts))]
    blocks = tuple(checked.compute(delayed, sync=False, retries=RETRIES))
    told = checked.map(summarise, blocks, pure=False, retries=RETRIES)
    summaries = _refused(gathered(checked, told, "Reading the rows"))
    starts = np.cumsum([0, *(summary.n_rows for summary in summaries)]).astype(np.int64)
    if starts[-1] < FEWEST_ROWS:
        raise InvalidInputError(
            f"There are {starts[-1]} rows in {len(blocks)} partitions; a fit needs at least {FEWEST_ROWS}."
        )
    return PlacedBlocks(
        checked,
        blocks,
        starts,
        source,
        merged_standardisation([s.x for s in summaries if s.x], [s.y for s in summaries if s.y]),
        hashlib.blake2b("".join(summary.digest for summary in summaries).encode(), digest_size=16).hexdigest(),
        sum(summary.n_dropped for summary in summaries),
    )


def take_rows(placed: PlacedBlocks, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    """Bring a few rows to the client, standardised.

    Parameters
    ----------
    placed : PlacedBlocks
    numbers : ndarray of int64, shape (n,)
        Row numbers over all blocks, ascending.

    Returns
    -------
    X : ndarray, shape (n, n_features)
    y : ndarray, shape (n,)

    Raises
    ------
    WorkerError
        Rows that were lost and could not be read again.
    """
    bounds = np.searchsorted(numbers, placed.starts)
    wanted = [
        (block, numbers[low:high] - start)
        for block, low, high, start in zip(placed.blocks, bounds[:-1], bounds[1:], placed.starts[:-1], strict=True)
        if low < high
    ]
    taken = placed.client.map(
        standardised,
        [block for block, _ in wanted],
        [rows for _, rows in wanted],
        scaling=placed.scaling,
        pure=False,
        retries=RETRIES,
    )
    parts = gathered(placed.client, taken, "Taking rows from the workers")
    inputs = [np.empty((0, placed.n_features)), *(X for X, _ in parts)]
    return np.concatenate(inputs), np.concatenate([np.empty(0), *(y for _, y in parts)])


def _refused(answers: Sequence[Summary | GPCommitteeError]) -> list[Summary]:
    """The summaries, or the first refusal and how many others there are."""
    errors = [answer for answer in answers if isinstance(answer, GPCommitteeError)]
    if errors:
        others = f" ({len(errors) - 1} more partitions cannot be used.)" if len(errors) > 1 else ""
        raise type(errors[0])(f"{errors[0]}{others}")
    return [answer for answer in answers if isinstance(answer, Summary)]
