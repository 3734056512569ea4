"""The exact Gaussian process: a committee whose one expert holds every row."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from gpcommittee.baselines._committee import FittedCommittee, communication_alone
from gpcommittee.estimator import CommitteeRegressor

ONE_EXPERT: dict[str, object] = {
    "n_experts": 1,
    "expert_size": None,
    "communication_size": None,
    "partition": "random",
    "calibration": None,
}


@dataclass(frozen=True)
class FullGP:
    """Exact Gaussian-process regression; time grows with the cube of the rows, memory with their square.

    Parameters
    ----------
    committee : CommitteeRegressor, optional
        Where kernel, noise, optimiser, threads and precision come from; what it says of experts, aggregation and
        calibration does not matter. Default: ``CommitteeRegressor()``.

    Examples
    --------
    >>> from gpcommittee.baselines import FullGP
    >>> from gpcommittee.datasets import make_toy
    >>> toy = make_toy(100)
    >>> mean, std = FullGP().fit(toy.X, toy.y).predict([[0.5]])
    """

    committee: CommitteeRegressor | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedCommittee:
        """Learn from data.

        Parameters
        ----------
        X : array-like, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)

        Raises
        ------
        InvalidInputError, InvalidParameterError
            As ``CommitteeRegressor.fit``.
        """
        return FittedCommittee(communication_alone(self.committee, **ONE_EXPERT).fit(X, y))
