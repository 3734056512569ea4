"""Rows that are held out of a committee, to see how it predicts what it does not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpcommittee.experts.committee import Committee
from gpcommittee.records import IntArray

SHARE, MOST, FEWEST = 0.1, 1000, 10
"""Rows held out: a tenth, so that experts hardly know less; at most a thousand, which tell rules apart to about a
hundredth of a nat; with fewer than ten, nothing is chosen and nothing measured."""

FACTORS_AT_ONCE = 2.0**29
"""Bytes of factors without the held-out rows, each of which is used once."""

DRAW = 3
"""Spawn key of their draw."""


def n_held_out(n_rows: int) -> int:
    """Rows that are held out of so many; 0 where they would be too few.

    Examples
    --------
    >>> n_held_out(99), n_held_out(500), n_held_out(10**6)
    (0, 50, 1000)
    """
    wanted = min(MOST, int(SHARE * n_rows))
    return wanted if wanted >= FEWEST else 0


def held_out_rows(offsets: IntArray) -> IntArray:
    """Rows of a committee to hold out, at random, ascending; every expert keeps at least one.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_experts + 1,)

    Returns
    -------
    ndarray of int64, shape (n_held_out,)
    """
    n_rows = int(offsets[-1])
    generator = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(DRAW,)))
    order = generator.permutation(n_rows)
    experts = np.searchsorted(offsets, order, side="right")
    free = np.delete(order, np.unique(experts, return_index=True)[1])
    held: IntArray = np.sort(free[: n_held_out(n_rows)])
    return held


def without(committee: Committee, held: IntArray) -> Committee:
    """A committee whose experts lack some rows, which are not copied."""
    kept, offsets = rows_left(committee.offsets, held)
    return replace(committee, offsets=offsets, kept=kept)


def rows_left(offsets: IntArray, held: IntArray) -> tuple[IntArray, IntArray]:
    """What is left of the rows of experts without some of them.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_experts + 1,)
    held : ndarray of int64
        Row numbers.

    Returns
    -------
    kept : ndarray of int64
        Row numbers of the others, ascending.
    offsets : ndarray of int64, shape (n_experts + 1,)
        Where experts begin among these.
    """
    keep = np.ones(int(offsets[-1]), dtype=bool)
    keep[held] = False
    before = np.concatenate([np.zeros(1, dtype=np.int64), keep.cumsum()])
    return np.flatnonzero(keep), before[offsets]
