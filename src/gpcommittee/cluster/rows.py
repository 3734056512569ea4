"""Rows of a fit on a cluster: divided among experts and arranged in one, since shards are in their final order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from gpcommittee.cluster.committee import ClusterCommittee
from gpcommittee.cluster.objective import ClusterObjective
from gpcommittee.cluster.sharded import ShardedRows, digests, scatter, with_communication
from gpcommittee.cluster.tasks import Cluster
from gpcommittee.data import Rows
from gpcommittee.distributed import Drawn, divide_rows
from gpcommittee.engines import Engine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import FloatArray, Hyperparameters, IntArray, Partition
from gpcommittee.training import Arranged, Objective
from gpcommittee.training.checkpoint import fingerprint
from gpcommittee.training.part import chosen_rows, part_key, some_of
from gpcommittee.training.rows import RowsInMemory, divide_in_memory


@dataclass(frozen=True)
class ClusterPart:
    """Some of a committee's experts on a cluster, in the order in which they join.

    Attributes
    ----------
    sharded : ShardedRows
    experts : ndarray of int64, shape (n_chosen,)
    metric : str
        In which the rows were divided.
    device : str
        On which every worker computes.
    partition : Partition or None
        Of rows that came from this process.
    """

    sharded: ShardedRows
    experts: IntArray
    metric: str
    device: str
    partition: Partition | None

    @property
    def n_committee(self) -> int:
        """Experts of the whole committee."""
        return self.sharded.n_experts

    @property
    def key(self) -> str:
        """Of all that decides which rows these are, once it is known which rows there are."""
        if self.partition is not None:
            return part_key(self.metric, chosen_rows(self.partition, self.experts, int(self.rows[0])))
        return fingerprint([self.metric, "cluster"], [self.experts, self.rows])

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the committee."""
        return len(self.experts) == self.n_committee

    @property
    def rows(self) -> IntArray:
        """Rows of each expert, shape (n_chosen,)."""
        sizes: IntArray = self.sharded.placed.sizes[self.experts]
        return sizes

    def objective(self, name: str, kernel: KernelFunction, n_rows: int, engine: Engine) -> Objective:
        """The objective of a committee of ``n_rows``, as these experts estimate it; the engine is the cluster."""
        return ClusterObjective(name, kernel, self.sharded, self.experts, n_rows, self.device)


@dataclass(frozen=True)
class ArrangedOnCluster:
    """Rows on a cluster for training.

    Attributes
    ----------
    sharded : ShardedRows
    metric : str
        In which the rows were divided.
    device : str
        On which every worker computes.
    kernel : KernelFunction
    here : Arranged or None
        The same rows in this process, if they came from here.
    """

    sharded: ShardedRows
    metric: str
    device: str
    kernel: KernelFunction
    here: Arranged | None

    @property
    def partition(self) -> Partition | None:
        """Rows of each expert, if they came from this process."""
        return None if self.here is None else self.here.partition

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        return self.sharded.n_experts

    def part(self, experts: IntArray) -> ClusterPart:
        """Some of the experts."""
        return ClusterPart(self.sharded, experts, self.metric, self.device, self.partition)

    def with_hyperparameters(self, hyperparameters: Hyperparameters) -> Committee | ClusterCommittee:
        """The committee: in this process if the rows came from here."""
        if self.here is not None:
            return self.here.with_hyperparameters(hyperparameters)
        return ClusterCommittee(self.kernel, hyperparameters, self.sharded)


@dataclass(frozen=True)
class RowsOnCluster:
    """Standardised rows on a cluster.

    Attributes
    ----------
    sharded : ShardedRows
    metric : str
        In which the rows were divided.
    device : str
        On which every worker computes.
    typical_X : ndarray, shape (n, n_features)
        Inputs that say what a typical row is.
    here : RowsInMemory or None
        The same rows in this process, if they came from here.
    """

    sharded: ShardedRows
    metric: str
    device: str
    typical_X: FloatArray
    here: RowsInMemory | None = None

    @property
    def n_rows(self) -> int:
        """Of all experts."""
        return int(self.sharded.placed.sizes.sum())

    @property
    def n_features(self) -> int:
        """Columns of the inputs."""
        return int(self.sharded.placed.communication_X.shape[1])

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        return self.sharded.n_experts

    @property
    def sizes(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        return self.sharded.placed.sizes

    def part(self, kernel: KernelFunction, experts: IntArray, n_communication: int | None = None) -> ClusterPart:
        """Some of the experts; the kernel is the objective's."""
        partition = None if self.here is None else self.here.partition
        sharded = self.sharded
        if n_communication is not None:
            sharded = with_communication(sharded, some_of(int(self.sizes[0]), n_communication))
        return ClusterPart(sharded, experts, self.metric, self.device, partition)

    def typical(self) -> FloatArray:
        """Inputs that say what a typical row is."""
        return self.typical_X

    def identity(self) -> Sequence[NDArray[Any]]:
        """Of rows from here as on one machine; otherwise the communication set, and digests of all shards."""
        if self.here is not None:
            return self.here.identity()
        placed = self.sharded.placed
        return placed.communication_X, placed.communication_y, placed.sizes, digests(self.sharded.held)

    def arranged(self, kernel: KernelFunction, hyperparameters: Hyperparameters) -> ArrangedOnCluster:
        """The same for training."""
        here = None if self.here is None else self.here.arranged(kernel, hyperparameters)
        return ArrangedOnCluster(self.sharded, self.metric, self.device, kernel, here)


def divide_arrays(
    cluster: Cluster, rows: Rows, divide: Callable[[FloatArray], Partition], device: str
) -> Callable[[FloatArray | None], RowsOnCluster]:
    """The division of this process's rows, in any metric, and their way to the workers.

    Parameters
    ----------
    cluster : Cluster
    rows : Rows
    divide : callable
        From standardised inputs to a partition.
    device : str

    Returns
    -------
    callable
    """
    in_memory = divide_in_memory(rows, divide)

    def in_metric(scales: FloatArray | None) -> RowsOnCluster:
        here = in_memory(scales)
        sharded = scatter(cluster, rows.inputs(), rows.y, here.partition, rows.scaling)
        return RowsOnCluster(sharded, here.metric, device, here.typical(), here)

    return in_metric


def divide_drawn(cluster: Cluster, drawn: Drawn, device: str) -> Callable[[FloatArray | None], RowsOnCluster]:
    """The division of rows that lie on the workers already, in any metric.

    Parameters
    ----------
    cluster : Cluster
    drawn : Drawn
        With its communication set.
    device : str

    Returns
    -------
    callable
    """

    def in_metric(scales: FloatArray | None) -> RowsOnCluster:
        sharded = ShardedRows.of(cluster, divide_rows(drawn, scales))
        metric = "standardised" if scales is None else "learned"
        return RowsOnCluster(sharded, metric, device, drawn.communication_X)

    return in_metric
