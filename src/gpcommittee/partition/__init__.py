"""Which rows each expert holds: pure functions from standardised inputs and a seed to a partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gpcommittee.errors import InvalidParameterError
from gpcommittee.partition.kmeans import kmeans_partition
from gpcommittee.partition.labels import partition_from_labels
from gpcommittee.partition.random import random_partition
from gpcommittee.partition.sizes import PartitionSizes, resolve_sizes
from gpcommittee.partition.tree import tree_partition
from gpcommittee.records import FloatArray, Partition

__all__ = [
    "DISTANCE_PARTITIONERS",
    "PARTITIONERS",
    "PartitionSizes",
    "kmeans_partition",
    "partition_from_labels",
    "partition_rows",
    "random_partition",
    "resolve_sizes",
    "tree_partition",
]

PARTITIONERS: Mapping[str, Callable[[FloatArray, PartitionSizes, int], Partition]] = MappingProxyType(
    {
        "random": random_partition,
        "kmeans": kmeans_partition,
        "tree": tree_partition,
    }
)

DISTANCE_PARTITIONERS = frozenset({"kmeans", "tree"})
"""Names of those that divide rows by their distances, and so depend on the scales of the inputs."""


def partition_rows(X: FloatArray, method: str, sizes: PartitionSizes, seed: int) -> Partition:
    """Partition the rows of standardised inputs `X`, shape (n_rows, n_features), by the named method.

    Raises
    ------
    InvalidParameterError
        If `method` is not one of "random", "kmeans", "tree", or the partitioner refuses its arguments.
    InvalidInputError
        If `X` is not a matrix of finite numbers.
    """
    if not isinstance(method, str) or method not in PARTITIONERS:
        raise InvalidParameterError(
            f"Unknown partition {method!r}; choose one of {', '.join(PARTITIONERS)}, or pass an array of integer "
            "labels, 0 being the communication set."
        )
    return PARTITIONERS[method](X, sizes, seed)
