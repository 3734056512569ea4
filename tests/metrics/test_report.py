from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from gpcommittee import metrics
from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.metrics import ScoreReport, score_report

generator = np.random.default_rng(2)
y_true = generator.normal(size=30)
mean = y_true + generator.normal(0.0, 0.3, 30)
std = generator.uniform(0.2, 0.5, 30)


def test_report_holds_every_metric() -> None:
    report = score_report(y_true, mean, std, y_train_mean=0.1, y_train_var=1.2, level=0.8)
    assert report.to_dict() == {
        "n_points": 30,
        "smse": metrics.smse(y_true, mean),
        "msll": metrics.msll(y_true, mean, std**2, y_train_mean=0.1, y_train_var=1.2),
        "rmse": metrics.rmse(y_true, mean),
        "mae": metrics.mae(y_true, mean),
        "nlpd": metrics.nlpd(y_true, mean, std**2),
        "crps": metrics.crps(y_true, mean, std),
        "level": 0.8,
        "coverage": metrics.coverage(y_true, mean, std, 0.8),
        "interval_width": metrics.interval_width(std, 0.8),
        "mean_squared_z": metrics.mean_squared_z(y_true, mean, std),
        "coverage_curve": [
            {"level": level, "coverage": metrics.coverage(y_true, mean, std, level)} for level in metrics.LEVELS
        ],
    }
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_a_report_survives_json() -> None:
    report = score_report(y_true, mean, std, y_train_mean=0.1, y_train_var=1.2, level=0.8)
    assert ScoreReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_a_report_from_before_there_was_a_curve() -> None:
    report = score_report(y_true, mean, std, y_train_mean=0.1, y_train_var=1.2)
    stored = {name: value for name, value in report.to_dict().items() if name != "coverage_curve"}
    assert ScoreReport.from_dict(stored) == replace(report, coverage_curve=())


def test_report_is_frozen() -> None:
    report = score_report(y_true, mean, std, y_train_mean=0.0, y_train_var=1.0)
    with pytest.raises(FrozenInstanceError):
        report.smse = 0.0  # type: ignore[misc]


def test_undefined_scores_are_none() -> None:
    one_point = score_report([1.0], [1.5], [1.0], y_train_mean=0.0, y_train_var=0.0)
    assert one_point.smse is None
    assert one_point.msll is None
    assert one_point.rmse == 0.5


def test_refusals() -> None:
    with pytest.raises(InvalidInputError, match="std must be positive"):
        score_report([1.0], [1.0], [0.0], y_train_mean=0.0, y_train_var=1.0)
    with pytest.raises(InvalidInputError, match="y_true is empty"):
        score_report([], [], [], y_train_mean=0.0, y_train_var=1.0)
    with pytest.raises(InvalidInputError, match="y_train_var must be positive"):
        score_report([1.0], [1.0], [1.0], y_train_mean=0.0, y_train_var=-1.0)
    with pytest.raises(InvalidParameterError, match="level"):
        score_report([1.0], [1.0], [1.0], y_train_mean=0.0, y_train_var=1.0, level=95.0)
