"""Baselines that are committees with other settings."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike
from sklearn.base import clone

from gpcommittee.aggregation import Communication
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.records import FloatArray


@dataclass(frozen=True)
class FittedCommittee:
    """A fitted committee as a baseline.

    Attributes
    ----------
    model : CommitteeRegressor
        Its hyperparameters and training record are in its attributes.
    """

    model: CommitteeRegressor

    def predict(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of a new observation, each of shape (n_points,)."""
        mean, std = self.model.predict(X, return_std=True)
        return mean, std


def communication_alone(committee: CommitteeRegressor | None, **settings: object) -> CommitteeRegressor:
    """A copy of the committee, not fitted, that predicts with its communication expert and has other settings."""
    copy: CommitteeRegressor = clone(CommitteeRegressor() if committee is None else committee)
    copy.set_params(aggregation=Communication(), **settings)
    return copy
