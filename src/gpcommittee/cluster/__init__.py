"""Committees on a Dask cluster: training and prediction where the experts' rows lie."""

from gpcommittee.cluster.answers import predict_on_cluster
from gpcommittee.cluster.committee import ClusterCommittee, scatter_committee
from gpcommittee.cluster.held_out import hold_out
from gpcommittee.cluster.neighbourhood import leave_out_on_cluster
from gpcommittee.cluster.rows import ArrangedOnCluster, RowsOnCluster, divide_arrays, divide_drawn
from gpcommittee.cluster.sharded import ShardedRows, gather, scatter
from gpcommittee.cluster.tasks import Cluster
from gpcommittee.cluster.worker import Model

__all__ = [
    "ArrangedOnCluster",
    "Cluster",
    "ClusterCommittee",
    "Model",
    "RowsOnCluster",
    "ShardedRows",
    "divide_arrays",
    "divide_drawn",
    "gather",
    "hold_out",
    "leave_out_on_cluster",
    "predict_on_cluster",
    "scatter",
    "scatter_committee",
]
