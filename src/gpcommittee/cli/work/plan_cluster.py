"""The plan of a cluster in lines to read."""

from __future__ import annotations

from collections.abc import Iterator

from gpcommittee.cli.work.talk import counted, duration, size
from gpcommittee.planning import ClusterPlan


def cluster_lines(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    """What is said of a cluster, and what of it."""
    rows = counted(plan.expert_size, "row")
    yield "table", f"{counted(plan.n_rows, 'row')}, {counted(plan.n_features, 'feature')}"
    yield (
        "experts",
        f"{plan.n_experts:,} with up to {rows}, in {counted(plan.traffic.n_shards, 'shard')}; "
        f"{plan.communication_size:,} for communication",
    )
    yield "cluster", f"{counted(plan.n_workers, 'worker')} of {plan.worker_rate / 1e9:.3g} GFLOP/s in matrix products"
    yield (
        "memory",
        f"{size(plan.worker_memory)} per worker at the peak; client {size(plan.client_memory)}, scheduler "
        f"{size(plan.scheduler_memory)}",
    )
    yield (
        "traffic",
        f"{size(plan.traffic.shuffle_bytes)} to divide the rows, {size(plan.evaluation_bytes)} per evaluation in "
        f"{counted(plan.evaluation_tasks, 'task')}, {size(plan.traffic.batch_bytes)} per batch of test rows in "
        f"{counted(plan.traffic.batch_tasks, 'task')}",
    )
    yield "fit", f"about {duration(plan.fit_seconds)} after reading"
    if plan.n_test:
        yield "predict", f"about {duration(plan.predict_seconds)} for {counted(plan.n_test, 'row')}"
    yield "limit", plan.limit
