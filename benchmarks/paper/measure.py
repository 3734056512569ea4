"""What is measured of a prediction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.paper.data import StudyData
from benchmarks.paper.systems import Predicted
from gpcommittee.metrics import score_report

Row = dict[str, object]


def scores(data: StudyData, predicted: Predicted) -> Row:
    """Every metric of the library."""
    rows = data.regression
    report = score_report(
        rows.y_test,
        predicted.mean,
        predicted.std,
        y_train_mean=float(rows.y_train.mean()),
        y_train_var=float(rows.y_train.var()),
    )
    return dict(report.to_dict())


def limits(data: StudyData, predicted: Predicted) -> Row:
    """Where variance and mean are on their way to the noise and the function (Propositions 1 to 3).

    ``variance_ratio`` is the predicted variance of an observation over the noise variance: 1 in the limit of a
    consistent rule, 0 for an overconfident one. ``mean_slope`` is the slope of the predicted mean over the function,
    both measured from the prior mean: 1 for a consistent rule, more for (R)BCM.
    """
    assert data.noise_variance is not None
    rows = data.regression
    ratio = predicted.std**2 / data.noise_variance
    low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
    truth = rows.y_test - rows.y_train.mean()
    mean = predicted.mean - rows.y_train.mean()
    return {
        "variance_ratio": float(middle),
        "variance_ratio_low": float(low),
        "variance_ratio_high": float(high),
        "mean_slope": float(mean @ truth / (truth @ truth)),
        "relative_error": float(np.sqrt(np.mean((mean - truth) ** 2) / np.mean(truth**2))),
        "prior_ratio": float(rows.y_train.var() / data.noise_variance),
    }


MEASURES: dict[str, Callable[[StudyData, Predicted], Row]] = {"scores": scores, "limits": limits}
