"""Subset of data (SOD): the exact Gaussian process on some of the rows, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gpcommittee.baselines._committee import FittedCommittee
from gpcommittee.baselines.full_gp import FullGP
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.estimator import CommitteeRegressor
from gpcommittee.records import IntArray


@dataclass(frozen=True)
class SubsetOfData:
    """The exact Gaussian process on ``n_rows`` rows drawn without replacement.

    Parameters
    ----------
    n_rows : int
    seed : int, default=0
    committee : CommitteeRegressor, optional
        As for ``FullGP``.

    References
    ----------
    Chalupka, Williams and Murray (2013), "A framework for evaluating approximation methods for Gaussian process
    regression", Journal of Machine Learning Research 14.
    """

    n_rows: int
    seed: int = 0
    committee: CommitteeRegressor | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> FittedCommittee:
        """Draw the rows and learn from them.

        Parameters
        ----------
        X : array-like, shape (n, n_features), n at least ``n_rows``
        y : array-like, shape (n,)

        Raises
        ------
        InvalidParameterError
            If there are fewer rows than are to be drawn.
        InvalidInputError
            As ``CommitteeRegressor.fit``.
        """
        inputs, target = np.asarray(X), np.asarray(y)
        if inputs.shape[:1] != target.shape[:1]:
            raise InvalidInputError(f"X and y must have as many rows, got shapes {inputs.shape} and {target.shape}.")
        rows = self._draw(len(inputs))
        return FullGP(self.committee).fit(inputs[rows], target[rows])

    def _draw(self, n_available: int) -> IntArray:
        if not 1 <= self.n_rows <= n_available:
            raise InvalidParameterError(
                f"SubsetOfData draws n_rows={self.n_rows!r} of {n_available} rows; choose 1 to {n_available}."
            )
        return np.random.default_rng(self.seed).choice(n_available, self.n_rows, replace=False)
