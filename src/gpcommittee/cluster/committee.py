"""A fitted committee whose rows lie on a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.cluster.sharded import ShardedRows, gather, scatter
from gpcommittee.cluster.tasks import Cluster
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.prediction import usable_memory
from gpcommittee.records import Hyperparameters, Partition, Standardisation


@dataclass(frozen=True)
class ClusterCommittee:
    """Experts on a cluster that share one kernel and one noise variance.

    Attributes
    ----------
    kernel : KernelFunction
        On the CPU.
    hyperparameters : Hyperparameters
    sharded : ShardedRows
    """

    kernel: KernelFunction
    hyperparameters: Hyperparameters
    sharded: ShardedRows

    @property
    def noise_variance(self) -> float:
        """Noise variance on a target of variance 1."""
        return self.hyperparameters.noise_variance

    @property
    def partition(self) -> Partition:
        """Rows of each expert, counted as they lie on the cluster: expert after expert."""
        offsets = self.sharded.offsets
        return Partition(np.arange(offsets[-1], dtype=np.int64), offsets)

    def gathered(self) -> Committee:
        """The same in this process.

        Raises
        ------
        MemoryBudgetError
            If this process cannot hold all rows.
        WorkerError
            If rows were lost and could not be made again.
        """
        placed = self.sharded.placed
        needed = 8.0 * int(placed.sizes.sum()) * (placed.communication_X.shape[1] + 1)
        if needed > usable_memory():
            raise MemoryBudgetError(
                f"The rows of this model lie on a cluster and take {needed / 2**30:.3g} GiB; this machine has "
                f"{usable_memory() / 2**30:.3g} GiB. Predict on the cluster, with engine=client, or use a larger "
                "machine to save the model."
            )
        X, y = gather(self.sharded)
        kernel, offsets = self.kernel, self.sharded.offsets
        return Committee(kernel, self.hyperparameters, kernel.tensor(X), kernel.tensor(y), offsets)


def scatter_committee(cluster: Cluster, committee: Committee, scaling: Standardisation) -> ShardedRows:
    """Send the rows of a committee in this process to the workers.

    Parameters
    ----------
    cluster : Cluster
    committee : Committee
    scaling : Standardisation

    Returns
    -------
    ShardedRows
    """
    X, y = (values.double().numpy(force=True) for values in (committee.X, committee.y))
    partition = Partition(np.arange(len(y), dtype=np.int64), committee.offsets)
    return scatter(cluster, X, y, partition, scaling)
