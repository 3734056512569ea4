"""K-means partition, as the paper's authors use it: disjoint experts of unequal size.

References
----------
Liu, Cai, Wang and Ong (2018), Generalized Robust Bayesian Committee Machine, section 4.1 (a random subset first, then
k-means on the rest).
Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
Sculley (2010), Web-scale k-means clustering, WWW (mini-batches).
"""

from __future__ import annotations

import heapq
import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from gpcommittee.partition.communication import draw_communication
from gpcommittee.partition.labels import group_rows
from gpcommittee.partition.sizes import PartitionSizes
from gpcommittee.partition.split import lowest
from gpcommittee.records import FloatArray, IntArray, Partition

MINI_BATCH_ABOVE = 100_000
"""Rows above which full k-means gives way to mini-batches."""

MAX_ITERATIONS = 100


def kmeans_partition(
    X: FloatArray, sizes: PartitionSizes, seed: int, mini_batch_above: int = MINI_BATCH_ABOVE
) -> Partition:
    """Draw the communication set at random and cluster the rest by k-means; cluster sizes are what they come out as.

    An empty cluster, as identical rows cause, takes half of the largest one. Runs on one thread, so the thread count
    does not change the answer. Time O(n M d) per iteration for n rows of d features and M experts, memory O(n d).

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs.
    sizes : PartitionSizes
    seed : int
    mini_batch_above : int
        Rows to cluster above which mini-batch k-means is used.

    Returns
    -------
    Partition
        Rows ascend within each expert.

    Raises
    ------
    InvalidInputError
        If `X` is not a matrix of finite numbers.
    InvalidParameterError
        If `sizes` does not fit `X` or `seed` is negative.
    """
    draw = draw_communication(X, sizes, seed)
    n_clusters = sizes.n_experts - 1
    labels = np.zeros(len(X), dtype=np.int64)
    if n_clusters > 0:
        values = X.take(draw.rest, axis=0)
        values -= values.mean(axis=0)
        state = int(draw.stream.generate_state(1)[0])
        with threadpool_limits(limits=1):
            clusters = _cluster(values, n_clusters, state, len(values) > mini_batch_above)
            labels[draw.rest] = 1 + _fill_empty(values, clusters, n_clusters)
    return group_rows(labels)


def _cluster(values: FloatArray, n_clusters: int, state: int, mini_batch: bool) -> IntArray:
    """Cluster of each row, shape (n,); some clusters may be empty."""
    model = _mini_batch_model(n_clusters, state) if mini_batch else _full_model(n_clusters, state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        labels: IntArray = model.fit(values).labels_.astype(np.int64)
    return labels


def _full_model(n_clusters: int, state: int) -> KMeans:
    return KMeans(n_clusters, n_init=1, max_iter=MAX_ITERATIONS, random_state=state, copy_x=False)


def _mini_batch_model(n_clusters: int, state: int) -> MiniBatchKMeans:
    """Batches hold several rows per cluster; with fewer, most centres would not move in a step."""
    batch = max(4096, 4 * n_clusters)
    return MiniBatchKMeans(
        n_clusters, n_init=1, batch_size=batch, init_size=3 * batch, max_iter=MAX_ITERATIONS, random_state=state
    )


def _fill_empty(values: FloatArray, labels: IntArray, n_clusters: int) -> IntArray:
    """Give each empty cluster half of the largest one, cut along its principal direction."""
    filled = labels.copy()
    counts = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    largest_first = [(-int(count), cluster) for cluster, count in enumerate(counts) if count > 0]
    heapq.heapify(largest_first)
    for cluster in empty.tolist():
        negative_count, donor = heapq.heappop(largest_first)
        rows = np.flatnonzero(filled == donor)
        moved = len(rows) // 2
        filled[rows[lowest(values, rows, moved)]] = cluster
        heapq.heappush(largest_first, (negative_count + moved, donor))
        heapq.heappush(largest_first, (-moved, cluster))
    return filled
