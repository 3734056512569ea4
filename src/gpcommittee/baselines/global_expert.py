"""The global expert M_c alone (appendix D of the GRBCM paper)."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from gpcommittee.baselines._committee import FittedCommittee, communication_alone
from gpcommittee.estimator import CommitteeRegressor


@dataclass(frozen=True)
class GlobalExpert:
    """The communication expert of a committee: all experts learn the hyperparameters, one predicts.

    Parameters
    ----------
    committee : CommitteeRegressor, optional
        All settings but the aggregation. Default: ``CommitteeRegressor()``.

    References
    ----------
    Liu, Cai, Wang and Ong (2018), "Generalized robust Bayesian committee machine for large-scale Gaussian process
    regression", ICML, appendix D.
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
        return FittedCommittee(communication_alone(self.committee).fit(X, y))
