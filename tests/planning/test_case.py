from __future__ import annotations

import numpy as np
import pytest

from gpcommittee.partition import partition_rows, resolve_sizes
from gpcommittee.planning.case import expected_sizes


@pytest.mark.parametrize("partition", ["tree", "random"])
@pytest.mark.parametrize(
    ("n_rows", "settings"),
    [
        (100, {"n_experts": 7}),
        (101, {"expert_size": 20, "communication_size": 35}),
        (5, {"n_experts": 5}),
        (9, {"n_experts": 1}),
    ],
)
def test_sizes_are_those_of_a_balanced_partition(partition: str, n_rows: int, settings: dict[str, int]) -> None:
    sizes = resolve_sizes(n_rows, **settings)
    X = np.random.default_rng(0).standard_normal((n_rows, 2))
    np.testing.assert_array_equal(
        expected_sizes(n_rows, sizes, partition), partition_rows(X, partition, sizes, seed=0).sizes
    )


@pytest.mark.parametrize("n_experts", [1, 2, 16, 1000])
def test_cluster_sizes_spread_but_hold_all_rows(n_experts: int) -> None:
    sizes = expected_sizes(100_000, resolve_sizes(100_000, n_experts), "kmeans")
    assert len(sizes) == n_experts
    assert sizes.sum() == pytest.approx(100_000)
    assert (sizes > 0).all()


def test_cluster_sizes_have_the_usual_sum_of_squares() -> None:
    others = expected_sizes(1_000_000, resolve_sizes(1_000_000, 1001), "kmeans")[1:]
    assert np.square(others).mean() / others.mean() ** 2 == pytest.approx(1.25, abs=0.02)
