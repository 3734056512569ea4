"""Single-row predictions with standard deviation from a fitted kin40k model, factors kept."""

from __future__ import annotations

import time
import warnings

import numpy as np

from benchmarks._data import load_rows
from benchmarks.paper.measure import Row
from benchmarks.speed.options import Options
from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import ConvergenceWarning
from gpcommittee.records import FloatArray

EVALUATIONS = 10
"""Of the fit, unless the command says otherwise: what is learned does not change the time of a prediction."""


def latency(options: Options) -> list[Row]:
    """One row per model and number of workers."""
    data = load_rows("kin40k", options.kin40k_rows, options.predictions, 0, options.data)
    models = {"paper_committee(16)": paper_committee(16, random_state=0), "default": CommitteeRegressor(random_state=0)}
    return [row for name, model in models.items() for row in _of_model(name, model, data, options)]


def _of_model(name: str, model: CommitteeRegressor, data: RegressionData, options: Options) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(max_evaluations=options.max_evaluations or EVALUATIONS).fit(data.X_train, data.y_train)
    return [_timed(name, model.set_params(n_jobs=n_jobs), data.X_test) for n_jobs in (1, 2)]


def _timed(name: str, model: CommitteeRegressor, X: FloatArray) -> Row:
    model.predict(X[:1], return_std=True)
    times = np.array([_milliseconds(model, X[i : i + 1]) for i in range(len(X))])
    (wall, cpu), (wall_95, cpu_95) = np.quantile(times, [0.5, 0.95], axis=0)
    return {
        "model": name,
        "n_jobs": model.n_jobs,
        "n_experts": model.partition_.n_experts,
        "predictions": len(X),
        "wall_ms": float(wall),
        "wall_ms_95": float(wall_95),
        "cpu_ms": float(cpu),
        "cpu_ms_95": float(cpu_95),
    }


def _milliseconds(model: CommitteeRegressor, x: FloatArray) -> tuple[float, float]:
    """By the clock, and of all processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    model.predict(x, return_std=True)
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)
