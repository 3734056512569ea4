"""Ready configurations."""

from __future__ import annotations

import numpy as np

from gpcommittee.aggregation import PAPER_RULES, make_rule
from gpcommittee.estimator import CommitteeRegressor


def paper_committee(
    n_experts: int, aggregation: str = "grbcm", random_state: int | np.random.RandomState | None = None
) -> CommitteeRegressor:
    """The configuration of the GRBCM paper, section 4.1.

    A random communication set and k-means on the rest, squared exponential kernel with one lengthscale per input, up to
    500 evaluations on all experts, noisy variances combined and not calibrated, and in GRBCM weight 1 for the first
    augmented expert (Eq. 15).

    Parameters
    ----------
    n_experts : int
        Number of experts, the communication expert included.
    aggregation : str, default="grbcm"
        Name of a rule.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    CommitteeRegressor
        Not fitted.

    Raises
    ------
    InvalidParameterError
        If the rule is unknown.

    Examples
    --------
    >>> from gpcommittee import paper_committee
    >>> paper_committee(16, random_state=0).partition
    'kmeans'
    """
    return CommitteeRegressor(
        kernel="squared_exponential",
        aggregation=make_rule(aggregation, PAPER_RULES),
        n_experts=n_experts,
        partition="kmeans",
        partition_metric="standardised",
        objective="factorised",
        expert_variances="shared",
        max_evaluations=500,
        training_experts="all",
        calibration=None,
        random_state=random_state,
    )
