"""Training rows of a cluster, each predicted by all others."""

from __future__ import annotations

from gpcommittee.aggregation import Neighbourhood
from gpcommittee.cluster.neighbourhood.placed import LeftOut
from gpcommittee.cluster.neighbourhood.prepare import prepared
from gpcommittee.cluster.sharded import ShardedRows
from gpcommittee.cluster.worker import Model


def leave_out_on_cluster(rows: ShardedRows, model: Model, rule: Neighbourhood, memory_budget: float | None) -> LeftOut:
    """Predictions of training rows without themselves, the rows and the numbers of one machine.

    Parameters
    ----------
    rows : ShardedRows
    model : Model
    rule : Neighbourhood
    memory_budget : float or None
        As in ``prepared``.

    Raises
    ------
    MemoryBudgetError
        If a worker cannot factor an expert.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    WorkerError
        If a task failed for good.
    """
    placed = prepared(rows, model, rule, memory_budget)
    return placed.leave_out(rows.cluster.keep("model", model), rule.blend)
