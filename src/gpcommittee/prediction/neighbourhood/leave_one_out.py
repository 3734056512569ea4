"""Blended predictions of training rows, each left out of every expert that knows it.

From the factors that predictions need in any case, so that nothing is factored for it alone: the work of predicting as
many points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.engines import Engine
from gpcommittee.experts.neighbourhood import leave_one_out_moments, neighbourhood_moments, without
from gpcommittee.prediction.neighbourhood.leaves import Leaves
from gpcommittee.prediction.neighbourhood.predict import LeafTask, as_rows, blended, leaf_tasks
from gpcommittee.prediction.neighbourhood.shares import VOTERS, Shares, shares_of
from gpcommittee.prediction.neighbourhood.store import LeafStore
from gpcommittee.prediction.request import StandardMoments
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray

MOST_ROWS = 1_000
"""Rows that are left out: their mean squared error is known to a twentieth."""

MOST_LEAVES = 32
"""Leaves in which they lie: each makes its own factor needed and those of a few around it."""

DRAW = 5
"""Spawn key of their draw."""


def left_out_rows(leaves: Leaves) -> IntArray:
    """Places of rows to leave out, at random from a few leaves, ascending.

    Parameters
    ----------
    leaves : Leaves
    """
    return draw_left_out(leaves.n_leaves, lambda chosen: [leaves.own(int(leaf)) for leaf in chosen])


def draw_left_out(n_leaves: int, rows_of: Callable[[IntArray], Sequence[IntArray]]) -> IntArray:
    """Draw rows to leave out, at random from a few leaves, ascending.

    Parameters
    ----------
    n_leaves : int
    rows_of : callable
        From numbers of leaves to the rows of each.
    """
    generator = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(DRAW,)))
    places = np.concatenate(rows_of(generator.permutation(n_leaves)[:MOST_LEAVES]))
    return np.sort(generator.permutation(places)[:MOST_ROWS])


def leave_one_out(
    blend: float, store: LeafStore, rows: IntArray, engine: Engine, reporter: Reporter
) -> StandardMoments:
    """Mean, latent variance, dispersion (1) and relative noise at training rows without themselves.

    Parameters
    ----------
    blend : float
        As in ``Neighbourhood``.
    store : LeafStore
    rows : ndarray of int64, shape (n,)
        Places of the rows among those of the leaves.
    engine : Engine
    reporter : Reporter

    Returns
    -------
    mean, var_latent, dispersion, relative_noise : ndarray, shape (n,)
        In standardised units.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    leaves = store.leaves
    if leaves.n_leaves == 1:
        shares = Shares(np.zeros((len(rows), 1), dtype=np.int64), np.ones((len(rows), 1)))
    else:
        distances, places = leaves.nearest(leaves.points[rows], VOTERS + 2)
        distances, places = without(rows, distances, places, VOTERS + 1)
        shares = shares_of(distances, leaves.leaf_of[places], blend)
    asked = np.zeros((3, *shares.leaves.shape))
    tasks = list(leaf_tasks(shares))
    with reporter.stage("predict", len(tasks), unit="leaves") as stage:
        for task, found in zip(tasks, engine.map(partial(_of_leaf, store, rows), tasks), strict=True):
            asked[:, task.points, task.places] = found
            stage.advance()
    return blended(shares.weights, asked)


def _of_leaf(store: LeafStore, rows: IntArray, task: LeafTask) -> FloatArray:
    leaves, asked = store.leaves, rows[task.points]
    x = store.committee.X[leaves.numbers[asked]].to(store.committee.kernel.dtype)
    return left_out_moments(store, task.leaf, leaves.numbers[asked], x, leaves.points[asked])


@torch.no_grad()
def left_out_moments(store: LeafStore, leaf: int, numbers: IntArray, x: Tensor, spread: FloatArray) -> FloatArray:
    """An expert's moments at some rows: left out of it where it holds them, as at any point where it does not.

    Parameters
    ----------
    store : LeafStore
    leaf : int
    numbers : ndarray of int64, shape (n,)
        Of the rows in the committee; -1 for those that it does not hold.
    x : Tensor, shape (n, n_features)
        Their standardised inputs.
    spread : ndarray, shape (n, n_features)
        The same in the kernel's metric.

    Returns
    -------
    ndarray, shape (3, n)
        Mean, latent variance and noise.
    """
    factor = store.factor(leaf)
    order = np.argsort(factor.rows)
    places = order[np.searchsorted(factor.rows, numbers, sorter=order).clip(max=len(order) - 1)]
    known = factor.rows[places] == numbers
    found = np.zeros((3, len(numbers)))
    if known.any():
        found[:, known] = as_rows(leave_one_out_moments(store.committee, factor, places[known], spread[known]))
    if not known.all():
        others = torch.from_numpy(~known)
        found[:, ~known] = as_rows(neighbourhood_moments(store.committee, factor, x[others], spread[~known]))
    return found
