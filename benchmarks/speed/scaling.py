"""Processor time per test point against the number of experts, on the geoid: all experts, and ways to sum fewer.

Hyperparameters are learned once, on the smallest committee. Every expert is summed at the first ``full_rows`` test
points, where the changes are measured; otherwise all ``test_rows`` are predicted, since leaving experts out pays where
test points lie close together.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np

from benchmarks._data import load_rows
from benchmarks._memory import forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import timed
from benchmarks.paper.measure import Row
from benchmarks.speed.options import Options
from gpcommittee import CommitteeRegressor
from gpcommittee.datasets import RegressionData
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.metrics import smse
from gpcommittee.planning.rate import measure_dgemm_rate
from gpcommittee.records import FloatArray, Prediction

KERNEL = "matern32"
LEARNING_EVALUATIONS = 30


def scaling(options: Options) -> list[Row]:
    """One row per number of experts and way to sum them."""
    kept = _learned(options)
    rows: list[Row] = []
    for n_experts in options.experts:
        data = _rows(n_experts, options)
        rows += _of_size(n_experts, data, kept, options)
    return [_with_growth(row, rows) for row in rows]


def changes(full: Prediction, reduced: Prediction) -> Row:
    """Largest change of the mean, in predicted standard deviations of an observation, and of the variance of one.

    Both also of the function value, which a small noise does not hide.
    """
    assert full.var_noisy is not None
    assert full.var_latent is not None
    assert reduced.var_noisy is not None
    assert reduced.var_latent is not None
    moved = np.abs(reduced.mean - full.mean)
    return {
        "mean_change": float((moved / np.sqrt(full.var_noisy)).max()),
        "variance_change": float(np.abs(reduced.var_noisy / full.var_noisy - 1.0).max()),
        "latent_mean_change": float((moved / np.sqrt(full.var_latent)).max()),
        "latent_variance_change": float(np.abs(reduced.var_latent / full.var_latent - 1.0).max()),
    }


def _learned(options: Options) -> Mapping[str, object]:
    """Settings that keep hyperparameters learned on the smallest committee."""
    data = _rows(min(options.experts), options)
    model = CommitteeRegressor(KERNEL, expert_size=options.expert_size, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        model.set_params(max_evaluations=LEARNING_EVALUATIONS).fit(data.X_train, data.y_train)
    return {"kernel": model.kernel_, "noise_variance": model.noise_variance_, "optimizer": None}


def _rows(n_experts: int, options: Options) -> RegressionData:
    return load_rows("geoid", n_experts * options.expert_size, options.test_rows, 0, options.data)


def _of_size(n_experts: int, data: RegressionData, kept: Mapping[str, object], options: Options) -> list[Row]:
    settings = {**kept, "calibration": "loo", "n_experts": n_experts, "random_state": 0, "n_jobs": 1}
    model = CommitteeRegressor(**settings).fit(data.X_train, data.y_train)  # type: ignore[arg-type]
    X_full = data.X_test[: options.full_rows]
    full, row = _measured(model, X_full, data, "all", {"nearest_experts": "all"})
    rows = [row]
    fewer: tuple[tuple[str, Mapping[str, object]], ...] = (
        (f"all, to {options.tolerance:g}", {"nearest_experts": "all", "tolerance": options.tolerance}),
        (f"{options.nearest} nearest", {"nearest_experts": options.nearest}),
    )
    for summed, way in fewer:
        reduced, row = _measured(model, data.X_test, data, summed, way)
        rows.append({**row, **changes(full, _first(reduced, len(X_full)))})
    return rows


def _measured(
    model: CommitteeRegressor, X: FloatArray, data: RegressionData, summed: str, settings: Mapping[str, object]
) -> tuple[Prediction, Row]:
    """The second of two predictions, which finds the factors of the first, and the time of both."""
    model.set_params(**{"tolerance": 0.0, **settings})
    forget_peak_memory()
    before = measure_dgemm_rate(1)
    _, first = timed(lambda: model.predict_rules(X, ["grbcm"]))
    between = measure_dgemm_rate(1)
    (prediction,), second = timed(lambda: model.predict_rules(X, ["grbcm"]))
    rate = 0.5 * (between + measure_dgemm_rate(1))
    n_experts, size = model.partition_.n_experts, float(model.partition_.sizes.max())
    row: Row = {
        "n_experts": n_experts,
        "n_rows": len(data.X_train),
        "n_test": len(X),
        "summed": summed,
        "first_cpu_seconds": first.cpu,
        "cpu_seconds": second.cpu,
        "cpu_ms_per_point": 1e3 * second.cpu / len(X),
        "share": 3 * size**2 * n_experts * len(X) / (second.cpu * rate),
        "smse": smse(data.y_test[: len(X)], prediction.mean),
        "peak_memory_gib": peak_memory_gib(),
        "dgemm_gflops": rate / 1e9,
        "dgemm_gflops_before": before / 1e9,
    }
    print(f"  {n_experts} experts, {summed}: {row['cpu_ms_per_point']:.3f} ms a point", flush=True)
    return prediction, row


def _first(prediction: Prediction, n: int) -> Prediction:
    assert prediction.var_latent is not None
    assert prediction.var_noisy is not None
    return Prediction(prediction.mean[:n], prediction.var_latent[:n], prediction.var_noisy[:n])


def _with_growth(row: Row, rows: list[Row]) -> Row:
    """Time per test point, in matrix products, over that of the smallest committee in the same way."""
    smallest = next(other for other in rows if other["summed"] == row["summed"])
    return {**row, "growth": _products(row) / _products(smallest)}


def _products(row: Row) -> float:
    seconds, rate = row["cpu_ms_per_point"], row["dgemm_gflops"]
    assert isinstance(seconds, float)
    assert isinstance(rate, float)
    return seconds * rate
