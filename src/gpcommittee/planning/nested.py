"""NPAE's work and memory: every pair of experts at every test point.

Per test point: two solves of m^2 for each expert of m rows, 2 m_i m_j for each pair, M^3/3 to combine M experts; the
covariances of pairs are computed once for each chunk.
"""

from __future__ import annotations

import numpy as np

from gpcommittee.planning.case import Case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS, Work
from gpcommittee.prediction.npae import chunk_size, npae_bytes
from gpcommittee.records import IntArray

PAIR_ENTRY = 50.0
"""Products' operations that take as long as multiplying and summing one number of a pair's products."""

COMBINED_ENTRY = 1000.0
"""The same for one entry of the covariance of the experts' means; measured 900 to 1,700 with 8 to 40 experts."""


def nested_work(case: Case) -> Work:
    """Moments and their aggregation by NPAE at all test rows.

    Raises
    ------
    MemoryBudgetError
        If NPAE does not fit the memory budget.
    """
    sizes, n_experts, kernel = case.sizes, len(case.sizes), KERNEL_COSTS[case.kernel]
    n_chunks = -(-case.n_test // nested_chunk(case))
    n_pairs = n_experts * (n_experts - 1) // 2
    pair_entries = float(sizes.sum() ** 2 - (sizes**2).sum()) / 2
    pair_rows = float((sizes * np.arange(n_experts)[::-1]).sum())
    elementwise = kernel.value * sizes.sum() + PAIR_ENTRY * pair_rows + COMBINED_ENTRY * n_experts**2
    return Work(
        products=2 * case.n_test * pair_entries + 2 * case.n_features * n_chunks * pair_entries,
        solves=2 * case.n_test * float((sizes**2).sum()),
        factorisations=case.n_test * n_experts**3 / 3,
        entries=case.n_test * float(elementwise) + n_chunks * kernel.value * pair_entries,
        call_seconds=CALL_SECONDS * n_chunks * (n_experts + n_pairs),
        n_tasks=n_chunks,
    )


def nested_worker_bytes(case: Case) -> float:
    """Bytes of the chunk on which one worker is busy."""
    return npae_bytes(_offsets(case), case.itemsize, min(nested_chunk(case), case.n_test))[1]


def nested_chunk(case: Case) -> int:
    """Test points per chunk."""
    return chunk_size(_offsets(case), case.itemsize, case.budget, case.n_workers)


def _offsets(case: Case) -> IntArray:
    return np.concatenate([[0], np.cumsum(case.sizes)])
