"""Every metric at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpcommittee.metrics._check import as_vectors, check_positive
from gpcommittee.metrics.calibration import LEVELS, coverage, coverage_curve, interval_width, mean_squared_z
from gpcommittee.metrics.density import crps, msll, nlpd
from gpcommittee.metrics.point import mae, rmse, smse


@dataclass(frozen=True)
class ScoreReport:
    """All scores of one set of predictions.

    Attributes
    ----------
    n_points : int
    smse : float or None
        Standardised mean squared error; None when all test targets are equal, for it is then undefined.
    msll : float or None
        Mean standardised log loss; None when the training targets have no variance, for it is then undefined.
    rmse, mae, crps : float
        In target units.
    nlpd : float
        In nats.
    level : float
        Probability of the interval that `coverage` and `interval_width` are about.
    coverage, interval_width, mean_squared_z : float
    coverage_curve : tuple of (float, float)
        Probability of an interval and coverage, at each of ``LEVELS``; empty in a report that was stored before there
        was one.
    """

    n_points: int
    smse: float | None
    msll: float | None
    rmse: float
    mae: float
    nlpd: float
    crps: float
    level: float
    coverage: float
    interval_width: float
    mean_squared_z: float
    coverage_curve: tuple[tuple[float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The scores by name, ready for JSON."""
        points = [{"level": level, "coverage": covered} for level, covered in self.coverage_curve]
        return {**asdict(self), "coverage_curve": points}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ScoreReport:
        """The report that ``to_dict`` wrote."""
        curve = tuple((point["level"], point["coverage"]) for point in content.get("coverage_curve", ()))
        return cls(**{**content, "coverage_curve": curve})


def score_report(
    y_true: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike,
    *,
    y_train_mean: float,
    y_train_var: float,
    level: float = 0.95,
) -> ScoreReport:
    """Compute every metric of a set of Gaussian predictions.

    Parameters
    ----------
    y_true, mean : array_like, shape (n_points,)
        Observed targets and predicted means.
    std : array_like, shape (n_points,)
        Predicted standard deviations of an observation, as ``predict(X, return_std=True)`` returns them.
    y_train_mean, y_train_var : float
        Mean and variance of the training targets.
    level : float, default=0.95
        Probability of the interval for coverage and width.

    Returns
    -------
    ScoreReport

    Raises
    ------
    InvalidInputError
        Arrays that are empty, of unequal length, not one-dimensional or not finite; a deviation that is not positive.
    InvalidParameterError
        A level outside (0, 1).

    Examples
    --------
    >>> report = score_report([0.0, 2.0], [0.0, 1.0], [1.0, 1.0], y_train_mean=1.0, y_train_var=1.0)
    >>> report.smse, report.msll, report.coverage
    (0.5, -0.25, 1.0)
    """
    observed, predicted, deviation = as_vectors(y_true=y_true, mean=mean, std=std)
    check_positive("std", deviation)
    variance = deviation**2
    return ScoreReport(
        n_points=len(observed),
        smse=smse(observed, predicted) if np.ptp(observed) > 0.0 else None,
        msll=(
            msll(observed, predicted, variance, y_train_mean=y_train_mean, y_train_var=y_train_var)
            if y_train_var != 0.0
            else None
        ),
        rmse=rmse(observed, predicted),
        mae=mae(observed, predicted),
        nlpd=nlpd(observed, predicted, variance),
        crps=crps(observed, predicted, deviation),
        level=level,
        coverage=coverage(observed, predicted, deviation, level),
        interval_width=interval_width(deviation, level),
        mean_squared_z=mean_squared_z(observed, predicted, deviation),
        coverage_curve=tuple(zip(LEVELS, coverage_curve(observed, predicted, deviation).tolist(), strict=True)),
    )
