"""Neighbourhood experts of a rule made ready on a cluster, once for a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation import Neighbourhood
from gpcommittee.aggregation.neighbourhood import NeighbourhoodSizes
from gpcommittee.cluster.neighbourhood.cut_shard import cut_shard, map_leaves, see_leaves
from gpcommittee.cluster.neighbourhood.halo import find_reach, sources_of, take_halo
from gpcommittee.cluster.neighbourhood.leaf_shard import put_together
from gpcommittee.cluster.neighbourhood.on_shards import LeavesOnShards
from gpcommittee.cluster.neighbourhood.placed import PlacedExperts
from gpcommittee.cluster.neighbourhood.whole import place_whole
from gpcommittee.cluster.sharded import ShardedRows, experts_text
from gpcommittee.cluster.worker import Model
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.prediction.budget import DEFAULT_SHARE, GIBIBYTE
from gpcommittee.prediction.neighbourhood.leaves import scales_in_metric
from gpcommittee.training.checkpoint import fingerprint

if TYPE_CHECKING:
    from distributed import Future

MATRICES = 3
"""Matrices of an expert's size that making a factor takes."""

KEPT_SHARE = 0.5
"""Share of a task's memory, counted for every thread, that kept factors may take together. On a graphics processor none
are kept: the client does not know its memory."""


def prepared(rows: ShardedRows, model: Model, rule: Neighbourhood, memory_budget: float | None) -> PlacedExperts:
    """A rule's experts on a cluster: those that are there already, or new ones.

    Parameters
    ----------
    rows : ShardedRows
        Keeps them for the next time.
    model : Model
    rule : Neighbourhood
    memory_budget : float or None
        GiB, of which half may hold kept factors for each thread; and that a task may take, where that is more than
        the default. Default: half of a worker's memory for each of its threads.

    Raises
    ------
    MemoryBudgetError
        If a worker cannot factor an expert.
    NotPositiveDefiniteError, WorkerError
        If a task failed.
    """
    n_rows = int(rows.offsets[-1])
    sizes = rule.sizes(n_rows, rows.n_experts, rows.placed.communication_X.shape[1])
    default = DEFAULT_SHARE * rows.cluster.memory_per_thread()
    budget = default if memory_budget is None else memory_budget * GIBIBYTE
    whole = sizes.leaf_size >= n_rows or rows.n_experts == 1
    _check_memory(rows, model, sizes, whole, max(default, budget))
    key = _key(model, sizes)
    found: PlacedExperts | None = rows.neighbourhoods.get(key)
    if found is None:
        rows.neighbourhoods.clear()
        for_factors = KEPT_SHARE * budget if model.device == "cpu" else 0.0
        found = _place(rows, model, sizes, whole, for_factors)
        rows.neighbourhoods[key] = found
    return found


def _place(
    rows: ShardedRows, model: Model, sizes: NeighbourhoodSizes, whole: bool, for_factors: float
) -> PlacedExperts:
    kept = rows.cluster.keep("model", model)
    if whole:
        return place_whole(rows, kept, sizes, for_factors)
    return _place_leaves(rows, model, kept, sizes, for_factors * rows.cluster.n_threads / len(rows.held))


def _check_memory(rows: ShardedRows, model: Model, sizes: NeighbourhoodSizes, whole: bool, limit: float) -> None:
    n_rows, n_features = int(rows.offsets[-1]), rows.placed.communication_X.shape[1]
    largest = n_rows if sizes.leaf_size >= n_rows else max(sizes.n_rows, sizes.leaf_size)
    needed = MATRICES * model.kernel.dtype.itemsize * float(largest) ** 2
    if whole:
        needed += 16.0 * n_rows * (n_features + 1)
    if needed > limit:
        raise MemoryBudgetError(
            f"Neighbourhood experts of {largest} rows need {needed / 2**30:.3g} GiB on one worker, and may take "
            f"{limit / 2**30:.3g} GiB. Use fewer rows, Neighbourhood(n_rows=...), raise memory_budget, or give "
            "workers more memory."
        )


def _key(model: Model, sizes: NeighbourhoodSizes) -> str:
    """Of all that experts on workers depend on beside the rows."""
    settings = (model.kernel.identity, str(model.kernel.dtype), model.calibrated, model.device, sizes)
    return fingerprint(settings, (model.hyperparameters.kernel, np.array([model.hyperparameters.log_noise_variance])))


def _place_leaves(
    rows: ShardedRows, model: Model, kept: Future[Any], sizes: NeighbourhoodSizes, budget: float
) -> LeavesOnShards:
    """Cut the shards into leaves, and send each the rows around its own."""
    cluster, offsets, n_common = rows.cluster, rows.offsets, len(rows.placed.communication_y)
    here = replace(model, device="cpu").committee((rows.placed.communication_X, rows.placed.communication_y))
    scales = scales_in_metric(here)
    sizes = replace(sizes, communication=min(sizes.communication, n_common))
    n_leaves = np.cumsum([0, *(-(-rows.placed.sizes[1:] // sizes.leaf_size))])
    first_leaves, first_rows = n_leaves[rows.firsts - 1], offsets[rows.firsts]
    about = [experts_text(held.first_expert, held.first_expert + held.n_experts - 1) for held in rows.held]
    numbers = range(len(about))
    cuts = [
        cluster.submit("cut", about[i], cut_shard, kept, scales, sizes.leaf_size, int(first_rows[i]), shard)
        for i, shard in enumerate(rows.placed.shards)
    ]
    seen = [cluster.submit("see", about[i], see_leaves, cuts[i]) for i in numbers]
    leaves = cluster.submit("map", "leaves", map_leaves, scales, *seen)
    n_nearest = sizes.n_rows - sizes.communication
    reaches = [cluster.submit("reach", about[i], find_reach, n_nearest, leaves, i, cuts[i]) for i in numbers]
    sources = cluster.results([cluster.submit("sources", about[i], sources_of, reaches[i]) for i in numbers])
    halos = [
        [cluster.submit("halo", about[source], take_halo, leaves, reaches[i], source, cuts[source]) for source in found]
        for i, found in enumerate(sources)
    ]
    starts = [(int(first_leaves[i]), budget) for i in numbers]
    shards = [
        cluster.submit(
            "leaves", about[i], put_together, kept, scales, sizes, *starts[i], cuts[i], rows.communication, *halos[i]
        )
        for i in numbers
    ]
    cluster.results([cluster.submit("ready", about[i], _ready, shards[i]) for i in numbers])
    return LeavesOnShards(cluster, leaves, shards, about, first_leaves, first_rows)


def _ready(_: object) -> None:
    """Nothing: to wait for what a task before has made."""
