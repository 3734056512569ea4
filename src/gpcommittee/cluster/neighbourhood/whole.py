"""All rows of a committee on one worker: where an expert holds all of them, or there is one expert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.cluster.neighbourhood.placed import LeftOut
from gpcommittee.cluster.predict import Answer, Numerics
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.tasks import Cluster
from gpcommittee.cluster.worker import Model, Rows, engine_on, on_device, tensor_of
from gpcommittee.experts import Committee
from gpcommittee.prediction import Request
from gpcommittee.prediction.neighbourhood import LeafStore, blended_moments, find_leaves, leave_one_out, left_out_rows
from gpcommittee.prediction.predict import in_target_units
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, IntArray, Shard

if TYPE_CHECKING:
    from distributed import Future

POINTS_TOGETHER = 4_096
"""Test points of a batch: each worker makes the factor once, and has its part of some ten thousand points."""


@dataclass(frozen=True)
class WholeOnWorker:
    """Neighbourhood experts of rows that lie together on a worker.

    Attributes
    ----------
    cluster : Cluster
    store : Future of LeafStore
    """

    cluster: Cluster
    store: Future[Any]

    @property
    def batch_points(self) -> int:
        return POINTS_TOGETHER

    @property
    def n_tasks(self) -> int:
        return 1

    def submit(self, model: Future[Any], blend: int, X: FloatArray | Future[Any], mean_only: bool) -> Future[Any]:
        points = self.cluster.kept("points", X)
        return self.cluster.submit("predict", "all rows", _predicted, model, blend, mean_only, self.store, points)

    def leave_out(self, model: Future[Any], blend: int) -> LeftOut:
        found: LeftOut = self.cluster.result(
            self.cluster.submit("left-out", "all rows", _left_out, model, blend, self.store)
        )
        return found


def place_whole(rows: ShardedRows, model: Future[Any], sizes: NeighbourhoodSizes, budget: float) -> WholeOnWorker:
    """Bring all rows to one worker.

    Parameters
    ----------
    rows : ShardedRows
    model : Future of Model
    sizes : NeighbourhoodSizes
    budget : float
        Bytes that kept factors may take.
    """
    store = rows.cluster.submit(
        "gather", "all rows", _gathered, model, sizes, budget, rows.offsets, rows.communication, *rows.placed.shards
    )
    return WholeOnWorker(rows.cluster, store)


def _gathered(
    model: Model, sizes: NeighbourhoodSizes, budget: float, offsets: IntArray, communication: Rows, *shards: Shard
) -> LeafStore:
    kernel = on_device(model.kernel, model.device)
    X = np.concatenate([communication[0], *(shard.X for shard in shards)])
    y = np.concatenate([communication[1], *(shard.y for shard in shards)])
    committee = Committee(kernel, model.hyperparameters, tensor_of(kernel, X), tensor_of(kernel, y), offsets)
    return LeafStore(committee, find_leaves(committee, sizes), model.calibrated, budget)


def _predicted(model: Model, blend: int, mean_only: bool, store: LeafStore, X: FloatArray) -> Answer:
    request, engine = Request(store.committee, model.scaling, X), engine_on(model.device)
    moments = blended_moments(blend, request, store, engine, SilentReporter(), mean_only=mean_only)
    prediction = in_target_units(moments, model.noise_variance, model.scaling, mean_only)
    return Answer([prediction], Numerics.of(store))


def _left_out(model: Model, blend: int, store: LeafStore) -> LeftOut:
    rows = left_out_rows(store.leaves)
    mean, variance, _, noise = leave_one_out(blend, store, rows, engine_on(model.device), SilentReporter())
    target = store.committee.y[store.leaves.numbers[rows]].double().numpy(force=True)
    return LeftOut(target, mean, variance, noise)
