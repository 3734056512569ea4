"""Scores of predictions: how wrong, and how right about being wrong."""

from gpcommittee.metrics.calibration import (
    LEVELS,
    coverage,
    coverage_curve,
    half_width_in_deviations,
    interval_width,
    mean_squared_z,
)
from gpcommittee.metrics.density import crps, msll, nlpd
from gpcommittee.metrics.point import mae, rmse, smse
from gpcommittee.metrics.report import ScoreReport, score_report

__all__ = [
    "LEVELS",
    "ScoreReport",
    "coverage",
    "coverage_curve",
    "crps",
    "half_width_in_deviations",
    "interval_width",
    "mae",
    "mean_squared_z",
    "msll",
    "nlpd",
    "rmse",
    "score_report",
    "smse",
]
