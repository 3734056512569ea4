"""The case that is planned: its settings resolved and the rows of each expert, before the rows are divided."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gpcommittee.aggregation import Neighbourhood, Rule, make_rule
from gpcommittee.errors import InvalidParameterError
from gpcommittee.experts.held_out import FACTORS_AT_ONCE, n_held_out
from gpcommittee.partition import PartitionSizes
from gpcommittee.partition.sizes import balanced_offsets
from gpcommittee.records import FloatArray

CLUSTER_SPREAD = 0.47
"""Standard deviation of the logarithm of k-means cluster sizes: it makes the sum of squares 1.25 times that of equal
sizes, the geometric mean over four real data sets of 3 to 21 columns, which range from 1.00 to 1.98."""


@dataclass(frozen=True)
class Case:
    """What memory and work depend on.

    Attributes
    ----------
    sizes : ndarray, shape (n_experts,)
        Rows of each expert, the communication expert first.
    n_features, n_test : int
    itemsize : int
        Bytes of a number in the experts' arrays.
    n_workers : int
    rule : Rule
    kernel : str
    budget : float
        Bytes for factors.
    objective : str
        By which the hyperparameters are learned.
    calibrates : bool
        Whether a fit predicts rows that are held out of it.
    from_table : bool
        Rows are given as a table and not as an array.
    partition : str
    expert_variances : str
        Whether experts have their own.
    """

    sizes: FloatArray
    n_features: int
    n_test: int
    itemsize: int
    n_workers: int
    rule: Rule
    kernel: str
    budget: float
    objective: str = "factorised"
    calibrates: bool = False
    from_table: bool = False
    partition: str = "tree"
    expert_variances: str = "shared"


def held_out_case(case: Case) -> Case | None:
    """Rows that a fit predicts without knowing them, to calibrate; None where it does not, or leaves others out."""
    n_rows = n_held_out(int(case.sizes.sum()))
    if isinstance(case.rule, Neighbourhood) or not case.calibrates or n_rows == 0 or len(case.sizes) == 1:
        return None
    return replace(case, n_test=n_rows, budget=min(case.budget, FACTORS_AT_ONCE))


def planned_rule(aggregation: str | Rule, partition: str) -> Rule:
    """The rule that is planned: for "auto", the one that is preferred of those that suit the partition.

    Raises
    ------
    InvalidParameterError
        If there is no such rule, or it cannot predict from the partition.
    """
    scattered = partition == "random"
    if isinstance(aggregation, str) and aggregation == "auto":
        return make_rule("grbcm" if scattered else "neighbourhood")
    rule = make_rule(aggregation)
    if scattered and isinstance(rule, Neighbourhood):
        raise InvalidParameterError(
            "aggregation='neighbourhood' predicts from neighbouring rows, and a random partition scatters them; plan "
            "for partition='tree', or choose aggregation='grbcm'."
        )
    return rule


def expected_sizes(n_rows: int, sizes: PartitionSizes, partition: str) -> FloatArray:
    """Rows of each expert, the communication expert first, shape (n_experts,).

    Exact for balanced partitions. For k-means, whose sizes are known only afterwards, they are the quantiles of a
    log-normal distribution, and not whole numbers.
    """
    n_others = sizes.n_experts - 1
    rest = n_rows - sizes.communication_size
    others = _clusters(rest, n_others) if partition == "kmeans" else np.diff(balanced_offsets(rest, n_others))
    return np.concatenate([[float(sizes.communication_size)], others])


def _clusters(n_rows: int, n_clusters: int) -> FloatArray:
    quantiles = np.exp(CLUSTER_SPREAD * ndtri((np.arange(n_clusters) + 0.5) / max(n_clusters, 1)))
    clusters: FloatArray = n_rows * quantiles / max(quantiles.sum(), 1.0)
    return clusters
