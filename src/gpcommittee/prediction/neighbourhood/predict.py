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
from torch import Tensor

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
        points = request.points(portion)
        shares = find_shares(blend, points, store, engine)
        asked = asked_moments(shares, points, store, engine, reporter, mean_only=mean_only)
        for whole, values in zip(output, blended(shares.weights, asked), strict=True):
            whole[portion] = values
    return output


def find_shares(blend: int, points: Tensor, store: LeafStore, engine: Engine) -> Shares:
    """Experts and weights at standardised test points, shape (n_points, n_features)."""
    leaves = store.leaves
    if leaves.n_leaves == 1:
        alone = np.zeros((len(points), 1), dtype=np.int64)
        return Shares(alone, np.ones(alone.shape))

    def search(chunk: Tensor) -> Shares:
        distances, places = leaves.nearest(leaves.in_metric(chunk), VOTERS + 1)
        return shares_of(distances, leaves.leaf_of[places], blend)

    found = list(engine.map(search, points.split(SEARCHED)))
    return Shares(np.concatenate([one.leaves for one in found]), np.concatenate([one.weights for one in found]))


def asked_moments(
    shares: Shares, points: Tensor, store: LeafStore, engine: Engine, reporter: Reporter, *, mean_only: bool
) -> FloatArray:
    """Mean, latent variance and noise by every expert asked, shape (3, n_points, blend); 0 where there is none."""
    asked = np.zeros((3, *shares.leaves.shape))
    tasks = list(leaf_tasks(shares))
    work = partial(_of_leaf, points, store, ScratchPool(), mean_only)
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
def _of_leaf(points: Tensor, store: LeafStore, pool: ScratchPool, mean_only: bool, task: LeafTask) -> FloatArray:
    factor, committee, parts = store.factor(task.leaf), store.committee, []
    with pool.borrow() as scratch:
        for asked in torch.from_numpy(task.points).to(points.device).split(CHUNK):
            x = points[asked]
            if mean_only:
                mean = neighbourhood_mean(committee, factor, x).double().cpu().numpy()
                parts.append(np.stack([mean, np.zeros_like(mean), np.zeros_like(mean)]))
            else:
                spread = store.leaves.in_metric(x)
                parts.append(as_rows(neighbourhood_moments(committee, factor, x, spread, scratch)))
    return np.concatenate(parts, axis=1)
