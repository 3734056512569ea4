"""The estimator's way to a cluster: its settings there, and held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from gpcommittee._held_out import HELD_OUT_STAGE, LEFT_OUT_STAGE, HeldOut, drawn_to_one, inputs_as_they_are
from gpcommittee.aggregation import Neighbourhood, Rule
from gpcommittee.cluster import (
    Cluster,
    ClusterCommittee,
    Model,
    RowsOnCluster,
    ShardedRows,
    divide_drawn,
    hold_out,
    leave_out_on_cluster,
    predict_on_cluster,
)
from gpcommittee.distributed import RowSource, draw, place_rows
from gpcommittee.errors import InvalidParameterError
from gpcommittee.experts import Committee
from gpcommittee.experts.held_out import FEWEST, held_out_rows
from gpcommittee.partition import PartitionSizes
from gpcommittee.progress import Reporter, UnderName
from gpcommittee.records import FloatArray, Standardisation


def cluster_of(engine: Any) -> Cluster | None:
    """The cluster of an estimator's engine; None where that is this process.

    Raises
    ------
    MissingDependencyError
        If Dask is not installed.
    InvalidParameterError
        If it is no Dask client, or its cluster cannot work.
    """
    return None if engine is None else Cluster(engine)


def worker_device(device: str | torch.device | None) -> str:
    """The device of every worker; this process need not have one like it.

    Raises
    ------
    InvalidParameterError
        If it is not the name of a device.
    """
    try:
        return str(torch.device("cpu" if device is None else device))
    except (RuntimeError, TypeError) as error:
        raise InvalidParameterError(
            f"device {device!r} is no device of a worker: {str(error).splitlines()[0]} Choose 'cpu' or 'cuda'."
        ) from error


def model_of(
    members: Committee | ClusterCommittee, scaling: Standardisation, *, calibrated: bool, device: str
) -> Model:
    """A fitted committee without its rows, for workers.

    Raises
    ------
    InvalidParameterError
        If experts have variances of their own.
    """
    if isinstance(members, Committee) and members.own is not None:
        raise InvalidParameterError(
            "Experts with variances of their own do not predict on a cluster. Use engine=None, or fit with "
            "expert_variances='shared'."
        )
    return Model(members.kernel.on("cpu"), members.hyperparameters, scaling, calibrated, device)


def divide_on_workers(
    cluster: Cluster, source: RowSource, method: object, sizes: Callable[[int], PartitionSizes], seed: int, device: str
) -> tuple[Callable[[FloatArray | None], RowsOnCluster], Standardisation]:
    """The division of rows that workers read, in any metric, and their scaling.

    Parameters
    ----------
    cluster : Cluster
    source : RowSource
    method : {"tree", "random"}
    sizes : callable
        From the number of rows to the sizes of a partition.
    seed : int
    device : str
    """
    placed = place_rows(cluster.client, source)
    drawn = draw(placed, method, sizes(placed.n_rows), seed)
    return divide_drawn(cluster, drawn, device), placed.scaling


def predict_held_out_on_cluster(
    sharded: ShardedRows, model: Model, rules: Sequence[Rule], reporter: Reporter, memory_budget: float | None
) -> HeldOut | None:
    """Predictions of rows that are held out, as on one machine; None where there are too few.

    Parameters
    ----------
    sharded : ShardedRows
    model : Model
    rules : sequence of Rule
    reporter : Reporter
    memory_budget : float or None
        As in ``predict_on_cluster``.

    Returns
    -------
    HeldOut or None
    """
    held = held_out_rows(sharded.offsets)
    if len(held) < FEWEST:
        return None
    rest, x, y = hold_out(sharded, held)
    scaling, reporter = model.scaling, UnderName(reporter, HELD_OUT_STAGE)
    blind = replace(model, scaling=inputs_as_they_are(scaling))
    found = predict_on_cluster(rest, blind, x, rules, reporter, memory_budget=memory_budget).predictions
    return HeldOut(scaling.y_mean + scaling.y_scale * y, dict(zip(rules, found, strict=True)))


def left_out_scale_on_cluster(
    sharded: ShardedRows, model: Model, rule: Neighbourhood, reporter: Reporter, memory_budget: float | None
) -> float:
    """The factor that makes a rule's errors at training rows, each left out, as large as it says, as on one machine.

    Parameters
    ----------
    sharded : ShardedRows
        The experts that are made stay for predictions.
    model : Model
    rule : Neighbourhood
    reporter : Reporter
    memory_budget : float or None
        As in ``predict_on_cluster``.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    MemoryBudgetError
        If a worker cannot factor an expert.
    WorkerError
        If a task failed for good.
    """
    with reporter.stage(LEFT_OUT_STAGE, 1, unit="passes") as stage:
        found = leave_out_on_cluster(sharded, model, rule, memory_budget)
        stage.advance()
    if len(found.target) < FEWEST:
        return 1.0
    variance = found.var_latent + found.relative_noise * model.noise_variance
    return drawn_to_one((found.target - found.mean) ** 2 / variance)
