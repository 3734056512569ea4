"""Split-conformal intervals: as wide as the errors at rows that the fit has not seen demand.

The score of such a row is s = |y - mean| / std. With n of them and k = ceil((n + 1) level), the interval
mean -+ s_(k) std holds a new observation with probability at least ``level``, whatever the model and the distribution,
if the rows and the new one are exchangeable: the rank of the new score among all n + 1 is then uniform (Lei et al.,
2018, Theorem 2.2 and section 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from gpcommittee.aggregation import Rule
from gpcommittee.aggregation.table import written
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import FloatArray, Prediction


@dataclass(frozen=True)
class ConformalScores:
    """Scores of calibration rows, and of which predictions they are.

    Attributes
    ----------
    rules : tuple of Rule
    scores : ndarray, shape (n_rules, n_rows)
        Absolute errors in predicted standard deviations, ascending for each rule.
    calibration : str or None
        Setting of the estimator under which the rows were predicted.
    """

    rules: tuple[Rule, ...]
    scores: FloatArray
    calibration: str | None

    @property
    def n_rows(self) -> int:
        return int(self.scores.shape[1])

    def of(self, rule: Rule) -> FloatArray:
        """Scores of one rule, shape (n_rows,), ascending.

        Raises
        ------
        InvalidParameterError
            If there are none.
        """
        if rule not in self.rules:
            raise InvalidParameterError(
                f"The model has conformal scores of {', '.join(map(written, self.rules))}, but none of "
                f"{written(rule)}. Choose one of these rules, or give the other one to conformalize(X, y, "
                "aggregations=[...])."
            )
        scores: FloatArray = self.scores[self.rules.index(rule)]
        return scores

    def check_calibration(self, calibration: str | None) -> None:
        """Refuse predictions other than those that the scores are of.

        Raises
        ------
        InvalidParameterError
            If the setting has changed.
        """
        if self.calibration != calibration:
            raise InvalidParameterError(
                f"The conformal scores are of predictions with calibration={self.calibration!r}, but it is "
                f"{calibration!r} now. Set it back, or call conformalize again."
            )


def conformal_scores(
    rules: Sequence[Rule], predictions: Sequence[Prediction], y: FloatArray, calibration: str | None
) -> ConformalScores:
    """Scores of calibration rows by each rule's prediction of an observation."""
    scores = [np.abs(y - p.mean) / np.sqrt(cast(FloatArray, p.var_noisy)) for p in predictions]
    return ConformalScores(tuple(rules), np.sort(scores, axis=1), calibration)


def conformal_quantile(scores: FloatArray, level: float) -> float:
    """The k-th smallest of n scores, k = ceil((n + 1) level), with the level taken as the decimal it is written as.

    Parameters
    ----------
    scores : ndarray, shape (n_rows,)
        Ascending.
    level : float
        Strictly between 0 and 1.

    Returns
    -------
    float

    Raises
    ------
    InvalidParameterError
        If k > n: no finite interval has the level then.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 20.0), 0.95)
    19.0
    """
    n_rows, exact = len(scores), Fraction(repr(float(level)))
    k = math.ceil((n_rows + 1) * exact)
    if k > n_rows:
        raise InvalidParameterError(
            f"A conformal interval of level {level} needs at least {math.ceil(exact / (1 - exact)):,} calibration "
            f"rows, but there are {n_rows:,}, which allow levels up to {n_rows}/{n_rows + 1}. Calibrate with more "
            "rows, or ask for a lower level."
        )
    return float(scores[k - 1])
