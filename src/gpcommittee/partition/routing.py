"""The balanced tree where no process sees all rows: a sample's splits, down to groups of leaves, and rows sent there.

A group is a node of the tree, so the leaves below it are cut as `tree` cuts them, once its rows are together. Of a
sample that is all rows, the groups hold the very rows that the tree gives them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from gpcommittee.partition.sizes import balanced_offsets
from gpcommittee.partition.split import Split, find_split
from gpcommittee.records import FloatArray, IntArray

LEAVES_PER_GROUP = 8
"""Fewest leaves of a group: its rows, which a sample meets to some per cent, settle the number of its leaves to half a
leaf, so that sizes stay within a tenth of the target."""

MOST_GROUPS = 256


@dataclass(frozen=True)
class Routes:
    """A complete binary tree of splits.

    Attributes
    ----------
    levels : tuple of tuple of Split
        The splits of each level, from low to high.
    """

    levels: tuple[tuple[Split, ...], ...]

    @property
    def n_groups(self) -> int:
        return int(2 ** len(self.levels))

    def groups(self, X: FloatArray, numbers: IntArray) -> IntArray:
        """Group of each row, shape (n,).

        Parameters
        ----------
        X : ndarray, shape (n, n_features)
        numbers : ndarray of int64, shape (n,)
            Row numbers in the whole data.
        """
        groups = np.zeros(len(X), dtype=np.int64)
        for splits in self.levels:
            groups = _descend(splits, X, numbers, groups)
        return groups


def group_bounds(n_leaves: int, leaves_per_group: int = LEAVES_PER_GROUP, most_groups: int = MOST_GROUPS) -> IntArray:
    """Leaves at which groups begin, and their number at the end, shape (n_groups + 1,).

    Groups are halved as the tree is, while none has fewer than `leaves_per_group` leaves and there are no more than
    `most_groups`.

    Examples
    --------
    >>> group_bounds(49)
    array([ 0, 12, 24, 36, 49])
    """
    bounds = np.array([0, n_leaves], dtype=np.int64)
    while n_leaves // (2 * (len(bounds) - 1)) >= leaves_per_group and 2 * (len(bounds) - 1) <= most_groups:
        bounds = _halved(bounds)
    return bounds


def find_routes(X: FloatArray, numbers: IntArray, offsets: IntArray, n_groups: int) -> Routes:
    """Splits of a sample of the rows.

    Parameters
    ----------
    X : ndarray, shape (n, n_features)
        The sampled rows.
    numbers : ndarray of int64, shape (n,)
        Their numbers in the whole data, ascending.
    offsets : ndarray of int64, shape (n_leaves + 1,)
        Leaf boundaries that all rows are to have.
    n_groups : int
        A power of 2, from `group_bounds`.

    Returns
    -------
    Routes
    """
    bounds = np.array([0, len(offsets) - 1], dtype=np.int64)
    groups, levels = np.zeros(len(X), dtype=np.int64), []
    with threadpool_limits(limits=1, user_api="blas"):
        while len(bounds) - 1 < n_groups:
            halved = _halved(bounds)
            places = offsets[halved]
            splits = []
            for group in range(len(bounds) - 1):
                rows = np.flatnonzero(groups == group)
                low, middle, high = places[2 * group : 2 * group + 3]
                splits.append(find_split(X, rows, _rank(len(rows), middle - low, high - low), numbers))
            levels.append(tuple(splits))
            groups, bounds = _descend(splits, X, numbers, groups), halved
    return Routes(tuple(levels))


def leaf_offsets(counts: IntArray, offsets: IntArray) -> list[IntArray]:
    """Leaf boundaries within each group, from 0 to its rows, so that all leaves are of nearly one size.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_groups,)
        Rows that went to each group.
    offsets : ndarray of int64, shape (n_leaves + 1,)
        Leaf boundaries that were planned; they are kept where each group has the rows planned for it.

    Returns
    -------
    list of ndarray of int64, shape (n_group_leaves + 1,)
    """
    n_leaves, bounds = len(offsets) - 1, np.array([0, len(offsets) - 1], dtype=np.int64)
    while len(bounds) - 1 < len(counts):
        bounds = _halved(bounds)
    if np.array_equal(counts, np.diff(offsets[bounds])):
        return [offsets[a : b + 1] - offsets[a] for a, b in itertools.pairwise(bounds)]
    shares = apportion(counts, n_leaves)
    return [balanced_offsets(int(rows), int(leaves)) for rows, leaves in zip(counts, shares, strict=True)]


def apportion(counts: IntArray, n_leaves: int) -> IntArray:
    """Leaves of each group in proportion to its rows, at least one where there are rows (Webster's method).

    Parameters
    ----------
    counts : ndarray of int64, shape (n_groups,)
        Rows, in all at least ``n_leaves``.
    n_leaves : int
        At least the number of groups with rows.

    Returns
    -------
    ndarray of int64, shape (n_groups,), of sum n_leaves

    Examples
    --------
    >>> apportion(np.array([530, 490, 180]), 12)
    array([5, 5, 2])
    """
    quotas = counts * (n_leaves / counts.sum())
    shares = np.where(counts > 0, np.maximum(np.floor(quotas), 1), 0).astype(np.int64)
    while (missing := n_leaves - int(shares.sum())) != 0:
        if missing > 0:
            shares[np.argmax(np.where(shares > 0, counts / (2 * shares + 1), -1.0))] += 1
        else:
            shares[np.argmin(np.where(shares > 1, counts / (2 * shares - 1), np.inf))] -= 1
    return shares


def _halved(bounds: IntArray) -> IntArray:
    """Each run of leaves in two, as the tree halves them."""
    halved = np.empty(2 * len(bounds) - 1, dtype=np.int64)
    halved[::2], halved[1::2] = bounds, (bounds[:-1] + bounds[1:]) // 2
    return halved


def _rank(n_rows: int, part: int, whole: int) -> int:
    """The share of the rows that is to go low, rounded, and not none or all of them."""
    return min(max((2 * n_rows * int(part) + int(whole)) // (2 * int(whole)), 1), n_rows - 1)


def _descend(splits: tuple[Split, ...] | list[Split], X: FloatArray, numbers: IntArray, groups: IntArray) -> IntArray:
    """One level down: group ``g`` becomes ``2 g`` below its split and ``2 g + 1`` above."""
    deeper = 2 * groups + 1
    for group, split in enumerate(splits):
        rows = np.flatnonzero(groups == group)
        deeper[rows] -= split.is_low(X[rows], numbers[rows])
    return deeper
