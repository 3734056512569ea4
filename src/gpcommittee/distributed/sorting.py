"""To which shard a row goes, and how a shard's rows are divided among its experts: one answer wherever it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpcommittee.partition.routing import Routes
from gpcommittee.partition.tree import cut_tree
from gpcommittee.records import FloatArray, IntArray

_NUMBERS_PER_STEP = 4
"""Numbers that Philox gives for one step of its counter."""


class Sorter(Protocol):
    """Divides standardised rows in two steps."""

    def shards(self, X: FloatArray, numbers: IntArray) -> IntArray:
        """Shard of each row, shape (n,), given its number over all blocks."""

    def order(self, X: FloatArray, offsets: IntArray, shard: int) -> IntArray:
        """Rows of one shard, expert after expert, ascending within each."""


@dataclass(frozen=True)
class TreeSorter:
    """Splits of a sample down to the shards, and the exact tree within each.

    Attributes
    ----------
    routes : Routes
    scales : ndarray of shape (n_features,), or None
        By which inputs are divided before distances are looked at.
    """

    routes: Routes
    scales: FloatArray | None

    def shards(self, X: FloatArray, numbers: IntArray) -> IntArray:
        """Along the splits."""
        return self.routes.groups(self._scaled(X), numbers)

    def order(self, X: FloatArray, offsets: IntArray, shard: int) -> IntArray:
        """As the tree on one machine cuts these rows."""
        return cut_tree(self._scaled(X), np.arange(len(X)), offsets)

    def _scaled(self, X: FloatArray) -> FloatArray:
        return X if self.scales is None else X / self.scales


@dataclass(frozen=True)
class RandomSorter:
    """Every row draws its shard; the draw depends on the seed and on the row's number alone.

    Attributes
    ----------
    key : tuple of int
        Two words from the seed.
    bounds : ndarray, shape (n_shards,)
        Rising shares of rows up to each shard's end; the last one is 1.
    """

    key: tuple[int, int]
    bounds: FloatArray

    def shards(self, X: FloatArray, numbers: IntArray) -> IntArray:
        """By a uniform number for each row."""
        if len(numbers) == 0:
            return np.zeros(0, dtype=np.int64)
        uniform = self._uniform(int(numbers[0]), int(numbers[-1]) + 1)[numbers - numbers[0]]
        shards: IntArray = np.searchsorted(self.bounds, uniform, side="right").astype(np.int64)
        return shards

    def order(self, X: FloatArray, offsets: IntArray, shard: int) -> IntArray:
        """A permutation of its own for each shard."""
        generator = np.random.default_rng([*self.key, shard])
        experts = np.empty(len(X), dtype=np.int64)
        experts[generator.permutation(len(X))] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        order: IntArray = np.argsort(experts, kind="stable")
        return order

    def _uniform(self, start: int, stop: int) -> FloatArray:
        """The numbers of rows from ``start`` to before ``stop``, wherever in a block these lie."""
        skipped = start % _NUMBERS_PER_STEP
        counter = np.random.Philox(key=np.array(self.key, dtype=np.uint64))
        counter.advance(start // _NUMBERS_PER_STEP)
        drawn: FloatArray = np.random.Generator(counter).random(skipped + stop - start)
        return drawn[skipped:]
