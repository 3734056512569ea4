"""Random experts spread over the domain."""

from __future__ import annotations

import numpy as np

from gpcommittee.partition import PartitionSizes, random_partition
from gpcommittee.partition.communication import draw_communication


def test_every_row_is_as_likely_in_every_expert() -> None:
    X, sizes, repeats = np.zeros((12, 1)), PartitionSizes(4, 3), 4_000
    counts = np.zeros((12, 4))
    for seed in range(repeats):
        counts[np.arange(12), random_partition(X, sizes, seed).labels()] += 1
    # A binomial proportion of 1/4: five standard deviations.
    np.testing.assert_allclose(counts / repeats, 0.25, atol=5 * np.sqrt(0.25 * 0.75 / repeats))


def test_inputs_do_not_matter() -> None:
    X, sizes = np.random.default_rng(0).normal(size=(100, 2)), PartitionSizes(7, 14)
    first, second = random_partition(X, sizes, 1), random_partition(X**3 + 5, sizes, 1)
    np.testing.assert_array_equal(first.order, second.order)


def test_dividing_the_rest_does_not_reuse_the_draw() -> None:
    first, second = (draw_communication(np.zeros((50, 1)), PartitionSizes(3, size), 0) for size in (10, 20))
    assert first.stream.spawn_key == second.stream.spawn_key == (1,)
