"""K-means experts: scikit-learn's clusters where they are clear, sound experts where they are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info, threadpool_limits

from gpcommittee.partition import PartitionSizes, kmeans_partition, random_partition, resolve_sizes
from gpcommittee.partition.kmeans import _fill_empty
from gpcommittee.records import FloatArray, IntArray


def blobs(n_rows: int, n_blobs: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Well separated blobs of unequal size, and the blob of each row."""
    rng = np.random.default_rng(seed)
    blob = rng.choice(n_blobs, size=n_rows, p=np.arange(1, n_blobs + 1) / (n_blobs * (n_blobs + 1) / 2))
    return 100.0 * np.eye(n_blobs)[blob] + rng.normal(size=(n_rows, n_blobs)), blob


@pytest.mark.parametrize("mini_batch_above", [0, 100_000])
def test_separated_clusters_are_found(mini_batch_above: int) -> None:
    X, blob = blobs(2_000, 6)
    partition = kmeans_partition(X, PartitionSizes(7, 300), 0, mini_batch_above=mini_batch_above)
    rest = np.flatnonzero(partition.labels() > 0)
    found = partition.labels()[rest]
    assert adjusted_rand_score(blob[rest], found) == 1.0
    expected = KMeans(6, n_init=1, random_state=1).fit_predict(X[rest])
    assert adjusted_rand_score(expected, found) == 1.0
    assert len(set(partition.sizes[1:].tolist())) == 6


def test_every_row_is_with_its_nearest_mean() -> None:
    X = np.random.default_rng(0).normal(size=(600, 2))
    partition = kmeans_partition(X, PartitionSizes(9, 60), 0)
    means = np.stack([X[partition.rows(expert)].mean(axis=0) for expert in range(1, 9)])
    rest = partition.labels() > 0
    nearest = 1 + ((X[rest, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == partition.labels()[rest]) > 0.99


@pytest.mark.parametrize("mini_batch_above", [0, 100_000])
@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_fewer_distinct_rows_than_clusters(distinct: int, mini_batch_above: int) -> None:
    X = np.random.default_rng(0).normal(size=(distinct, 3))[np.arange(200) % distinct]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        partition = kmeans_partition(X, PartitionSizes(21, 10), 0, mini_batch_above=mini_batch_above)
    assert caught == []
    assert partition.n_experts == 21
    for expert in range(1, 21):
        assert len(np.unique(X[partition.rows(expert)], axis=0)) == 1
    assert partition.sizes[1:].max() <= 95


def test_empty_clusters_take_half_of_the_largest() -> None:
    labels = np.array([0, 0, 0, 0, 0, 0, 0, 2, 2, 2])
    filled = _fill_empty(np.arange(10.0)[:, None], labels, 5)
    # 1 takes 3 of the 7 rows of 0; 3 takes 2 of its other 4; 1 and 2 are now the largest and 4 takes 1 of 1's 3.
    np.testing.assert_array_equal(filled, [4, 1, 1, 3, 3, 0, 0, 2, 2, 2])
    np.testing.assert_array_equal(labels, [0, 0, 0, 0, 0, 0, 0, 2, 2, 2])


def test_a_large_common_offset_does_not_blur_clusters() -> None:
    X, _ = blobs(600, 4)
    sizes = PartitionSizes(5, 60)
    for limit in (0, 100_000):
        plain = kmeans_partition(X, sizes, 0, mini_batch_above=limit)
        moved = kmeans_partition(X + 1e9, sizes, 0, mini_batch_above=limit)
        np.testing.assert_array_equal(plain.order, moved.order)


def test_clusters_are_tighter_than_random_experts() -> None:
    X = np.random.default_rng(0).normal(size=(1_500, 3))
    sizes = resolve_sizes(1_500, n_experts=16)

    def spread(labels: IntArray) -> float:
        return float(np.mean([X[labels == expert].var(axis=0).sum() for expert in range(1, 16)]))

    kmeans, random = (method(X, sizes, 0).labels() for method in (kmeans_partition, random_partition))
    assert spread(kmeans) < 0.5 * spread(random)


def test_mini_batches_take_over_above_the_limit() -> None:
    X = np.random.default_rng(0).normal(size=(100_050, 2))
    sizes = PartitionSizes(9, 40)
    default, mini, full = (
        kmeans_partition(X, sizes, 0, **limit).order
        for limit in ({}, {"mini_batch_above": 0}, {"mini_batch_above": 10**6})
    )
    np.testing.assert_array_equal(default, mini)
    assert (mini != full).any()


@pytest.mark.parametrize("mini_batch_above", [0, 100_000])
def test_threads_are_restored_and_do_not_matter(mini_batch_above: int) -> None:
    X = np.random.default_rng(0).normal(size=(5_000, 10))
    sizes = resolve_sizes(5_000, n_experts=12)
    orders = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            before = threadpool_info()
            orders.append(kmeans_partition(X, sizes, 0, mini_batch_above=mini_batch_above).order)
            assert threadpool_info() == before
    np.testing.assert_array_equal(orders[0], orders[1])
