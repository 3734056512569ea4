"""The interface of a baseline; anything with these two methods can be compared with a committee."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from gpcommittee.records import FloatArray


class FittedBaseline(Protocol):
    """A fitted model that says how sure it is."""

    def predict(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of a new observation.

        Parameters
        ----------
        X : array-like, shape (n_points, n_features)

        Returns
        -------
        mean, std : ndarray, shape (n_points,)
        """
        ...


class Baseline(Protocol):
    """A model's settings; fitting leaves them as they are and returns something new."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedBaseline:
        """Learn from data.

        Parameters
        ----------
        X : array-like, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
        """
        ...
