"""What experts of leaves on workers say of a batch of points, and what they say together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.cluster.neighbourhood.leaf_shard import LeafShard
from gpcommittee.cluster.neighbourhood.search import Asked
from gpcommittee.cluster.predict import Answer, Numerics
from gpcommittee.cluster.worker import Model, engine_on, tensor_of
from gpcommittee.prediction.neighbourhood.leave_one_out import left_out_moments
from gpcommittee.prediction.neighbourhood.predict import asked_moments, blended, leaf_tasks
from gpcommittee.prediction.neighbourhood.shares import Shares
from gpcommittee.prediction.predict import in_target_units
from gpcommittee.prediction.request import StandardMoments
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, IntArray


@dataclass(frozen=True)
class Told:
    """What the experts of one shard say.

    Attributes
    ----------
    points : ndarray of int64, shape (n,)
        Points of the batch that they are asked for.
    values : ndarray, shape (3, n, blend)
        Mean, latent variance and noise by every expert; 0 where it is of another shard, or there is none.
    numerics : Numerics
    """

    points: IntArray
    values: FloatArray
    numerics: Numerics

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move."""
        return self.points.nbytes + self.values.nbytes


def tell(model: Model, mean_only: bool, shard: LeafShard, asked: Asked, shares: Shares) -> Told:
    """What the experts of a shard say of the points in which they have a share."""
    leaves, n_leaves = shares.leaves - shard.first_leaf, shard.store.leaves.n_leaves
    own = (leaves >= 0) & (leaves < n_leaves) & (shares.leaves >= 0)
    points = np.flatnonzero(own.any(axis=1))
    mine = Shares(np.where(own, leaves, -1)[points], shares.weights[points])
    if asked.left_out is None:
        x = tensor_of(shard.store.committee.kernel, asked.x[points])
        engine, silent = engine_on(model.device), SilentReporter()
        values = asked_moments(mine, x, shard.store, engine, silent, mean_only=mean_only)
    else:
        values = _of_rows(shard, mine, asked.x[points], asked.spread[points], asked.left_out[points])
    return Told(points, values, Numerics.of(shard.store))


def _of_rows(shard: LeafShard, shares: Shares, x: FloatArray, spread: FloatArray, numbers: IntArray) -> FloatArray:
    """Of rows that are left out."""
    places, rows = shard.places(numbers), tensor_of(shard.store.committee.kernel, x)
    values = np.zeros((3, *shares.leaves.shape))
    for task in leaf_tasks(shares):
        some = task.points
        found = left_out_moments(shard.store, task.leaf, places[some], rows[some], spread[some])
        values[:, some, task.places] = found
    return values


def blend_shards(shares: Shares, *told: Told) -> StandardMoments:
    """What the experts of all shards say together."""
    values = np.zeros((3, *shares.leaves.shape))
    for one in told:
        values[:, one.points] += one.values
    return blended(shares.weights, values)


def answer(model: Model, mean_only: bool, shares: Shares, *told: Told) -> Answer:
    """The same in the target's units."""
    moments = blend_shards(shares, *told)
    numerics = Numerics()
    for one in told:
        numerics = numerics.and_of(one.numerics)
    return Answer([in_target_units(moments, model.noise_variance, model.scaling, mean_only)], numerics)
