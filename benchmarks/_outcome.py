"""One fit of a committee and what its predictions are worth, with the processor time that they took."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from gpcommittee import CommitteeRegressor, GPCommitteeWarning
from gpcommittee.datasets import RegressionData
from gpcommittee.metrics import ScoreReport, score_report


@dataclass(frozen=True)
class Outcome:
    """A fitted model, the scores of its predictions of the test rows, and processor seconds."""

    model: CommitteeRegressor
    report: ScoreReport
    fit_seconds: float
    predict_seconds: float


def fit_and_score(model: CommitteeRegressor, data: RegressionData) -> Outcome:
    """Fit to the training rows, without warnings, and predict the test rows with standard deviation."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model.fit(data.X_train, data.y_train)
        fitted = time.process_time()
        mean, std = model.predict(data.X_test, return_std=True)
    ended = time.process_time()
    moments = {"y_train_mean": float(data.y_train.mean()), "y_train_var": float(data.y_train.var())}
    report = score_report(data.y_test, np.asarray(mean), std, **moments)
    return Outcome(model, report, fitted - started, ended - fitted)
