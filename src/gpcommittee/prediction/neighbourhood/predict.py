"""Blended predictions: test points sorted by leaf, each leaf's expert asked once for all of them.

mean = sum w mu, latent variance = sum w (d v + (mu - mean)^2), noise = sum w d s2, with weights w of sum 1, local
scales d and the experts' means mu and variances v. A portion of the test points is looked at together: memory is
bounded and a factor that is not kept is made once for many points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from gpcommittee.engines import Engine
from gpcommittee.experts.neighbourhood import LeafMoments, neighbourhood_mean, neighbourhood_moments
from gpcommittee.prediction.neighbourhood.shares import VOTERS, Shares, shares_of
from gpcommittee.prediction.neighbourhood.store import LeafStore
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray
from gpcommittee.scratch import ScratchPool

PORTION = 2**18
"""Test points that are sorted by leaf together."""

CHUNK = 1024
"""Test points of one leaf that are computed together."""

SEARCHED = 4096
"""Test points whose nearest rows are searched in one task."""


@dataclass(frozen=True)
class LeafTask:
    """One leaf, and the points of a portion that its expert is asked for.

    Attributes
    ----------
    leaf : int
    points : ndarray of int64, shape (n,)
        Numbers within the portion, ascending.
    places : ndarray of int64, shape (n,)
        At which place of the point's shares the leaf stands.
    """

    leaf: int
    points: IntArray
    places: IntArray


def blended_moments(
    blend: int, request: Request, store: LeafStore, engine: Engine, reporter: Reporter, *, mean_only: bool = False
) -> StandardMoments:
    """Mean, latent variance, dispersion (1) and relative noise of the blended experts, in standardised units.

    Parameters
    ----------
    blend : int
        Most experts at a point.
    request : Request
    store : LeafStore
    engine : Engine
    reporter : Reporter
    mean_only : bool
        Leave the variances at 0.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    output = empty_moments(len(request.X))
    for portion in request.chunks(PORTION):
        part = Request(request.committee, request.scaling, request.X[portion])
        shares = find_shares(blend, part, store, engine)
        asked = asked_moments(shares, part, store, engine, reporter, mean_only=mean_only)
        for whole, values in zip(output, blended(shares.weights, asked), strict=True):
            whole[portion] = values
    return output


def find_shares(blend: int, request: Request, store: LeafStore, engine: Engine) -> Shares:
    """Experts and weights at all points of a request."""
    leaves = store.leaves
    if leaves.n_leaves == 1:
        alone = np.zeros((len(request.X), 1), dtype=np.int64)
        return Shares(alone, np.ones(alone.shape))

    def search(chunk: slice) -> Shares:
        distances, places = leaves.nearest(in_metric(request, store, chunk), VOTERS + 1)
        return shares_of(distances, leaves.leaf_of[places], blend)

    found = list(engine.map(search, request.chunks(SEARCHED)))
    none = np.empty((0, blend))
    return Shares(
        np.concatenate([none.astype(np.int64), *(one.leaves for one in found)]),
        np.concatenate([none, *(one.weights for one in found)]),
    )


def in_metric(request: Request, store: LeafStore, rows: slice | IntArray) -> FloatArray:
    """Some points of a request in the kernel's metric, shape (n_points, n_features)."""
    points: FloatArray = request.points(rows).double().cpu().numpy() / store.leaves.scales
    return points


def asked_moments(
    shares: Shares, request: Request, store: LeafStore, engine: Engine, reporter: Reporter, *, mean_only: bool
) -> FloatArray:
    """Mean, latent variance and noise by every expert asked, shape (3, n_points, blend); 0 where there is none."""
    asked = np.zeros((3, *shares.leaves.shape))
    tasks = list(leaf_tasks(shares))
    work = partial(_of_leaf, request, store, ScratchPool(), mean_only)
    with reporter.stage("predict", len(tasks), unit="leaves") as stage:
        for task, found in zip(tasks, engine.map(work, tasks), strict=True):
            asked[:, task.points, task.places] = found
            stage.advance()
    return asked


def leaf_tasks(shares: Shares) -> Iterator[LeafTask]:
    """One task for each leaf that has a share, in their order."""
    points, places = np.nonzero(shares.leaves >= 0)
    leaves = shares.leaves[points, places]
    order = np.argsort(leaves, kind="stable")
    starts = np.flatnonzero(np.diff(leaves[order], prepend=-1))
    for some in np.split(order, starts[1:]) if len(order) else []:
        yield LeafTask(int(leaves[some[0]]), points[some], places[some])


def blended(weights: FloatArray, asked: FloatArray) -> StandardMoments:
    """What the experts asked say together; see the module.

    Parameters
    ----------
    weights : ndarray, shape (n_points, blend)
    asked : ndarray, shape (3, n_points, blend)

    Returns
    -------
    mean, var_latent, dispersion, relative_noise : ndarray, shape (n_points,)
    """
    means, variances, noises = asked
    mean = (weights * means).sum(axis=1)
    variance = (weights * (variances + np.square(means - mean[:, None]))).sum(axis=1)
    return mean, variance, np.ones(len(mean)), (weights * noises).sum(axis=1)


def as_rows(moments: LeafMoments) -> FloatArray:
    """Mean, latent variance and noise, shape (3, n_points)."""
    return torch.stack([moments.mean, moments.var_latent, moments.noise]).double().cpu().numpy()


@torch.no_grad()
def _of_leaf(request: Request, store: LeafStore, pool: ScratchPool, mean_only: bool, task: LeafTask) -> FloatArray:
    factor, committee = store.factor(task.leaf), request.committee
    found = np.zeros((3, len(task.points)))
    with pool.borrow() as scratch:
        for start in range(0, len(task.points), CHUNK):
            some = slice(start, start + CHUNK)
            x = request.points(task.points[some])
            if mean_only:
                found[0, some] = neighbourhood_mean(committee, factor, x).double().cpu().numpy()
            else:
                spread = in_metric(request, store, task.points[some])
                found[:, some] = as_rows(neighbourhood_moments(committee, factor, x, spread, scratch))
    return found
