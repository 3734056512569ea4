"""What an evaluation moves does not grow with the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpcommittee.cluster import Cluster, scatter
from gpcommittee.cluster.objective import ClusterObjective
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import partition_rows, resolve_sizes
from gpcommittee.records import Standardisation

N_FEATURES = 40
BYTES_OF_AN_EXPERT = 8 * 60 * N_FEATURES


def sent(client: Any) -> int:
    """Bytes that workers have sent to each other, by Dask's own counters."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


@pytest.mark.parametrize("n_rows", [600, 1800])
def test_rows_stay_where_they_are(client: Any, n_rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(n_rows, N_FEATURES))
    scaling = Standardisation(np.zeros(N_FEATURES), np.ones(N_FEATURES), 0.0, 1.0)
    partition = partition_rows(X, "random", resolve_sizes(n_rows, expert_size=60), 0)
    rows = scatter(Cluster(client), X, X[:, 0].copy(), partition, scaling)
    kernel = KernelFunction(make_kernel("squared_exponential", N_FEATURES))
    objective = ClusterObjective("factorised", kernel, rows, np.arange(partition.n_experts), n_rows, "cpu")
    theta = np.append(kernel.start, -2.0)
    for _ in range(2):  # kernel and communication set go to each worker once
        objective(theta)

    before = sent(client)
    for _ in range(3):
        objective(theta)
    assert sent(client) - before < 6 * BYTES_OF_AN_EXPERT  # a worker may give a shard away now and then
