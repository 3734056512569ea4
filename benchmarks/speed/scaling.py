"""Processor time per test point against the number of experts, on the geoid.

Hyperparameters are learned once, on the smallest committee.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

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

KERNEL = "matern32"
LEARNING_EVALUATIONS = 30


def scaling(options: Options) -> list[Row]:
    """One row per number of experts."""
    kept = _learned(options)
    rows = [_of_size(n_experts, _rows(n_experts, options), kept) for n_experts in options.experts]
    return [_with_growth(row, rows[0]) for row in rows]


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


def _of_size(n_experts: int, data: RegressionData, kept: Mapping[str, object]) -> Row:
    """The second of two predictions, which finds the factors of the first, and the time of both."""
    settings = {**kept, "calibration": "loo", "n_experts": n_experts, "random_state": 0, "n_jobs": 1}
    model = CommitteeRegressor(**settings).fit(data.X_train, data.y_train)  # type: ignore[arg-type]
    X = data.X_test
    forget_peak_memory()
    before = measure_dgemm_rate(1)
    _, first = timed(lambda: model.predict_rules(X, ["grbcm"]))
    between = measure_dgemm_rate(1)
    (prediction,), second = timed(lambda: model.predict_rules(X, ["grbcm"]))
    rate = 0.5 * (between + measure_dgemm_rate(1))
    size = float(model.partition_.sizes.max())
    row: Row = {
        "n_experts": n_experts,
        "n_rows": len(data.X_train),
        "n_test": len(X),
        "first_cpu_seconds": first.cpu,
        "cpu_seconds": second.cpu,
        "cpu_ms_per_point": 1e3 * second.cpu / len(X),
        "share": 3 * size**2 * n_experts * len(X) / (second.cpu * rate),
        "smse": smse(data.y_test, prediction.mean),
        "peak_memory_gib": peak_memory_gib(),
        "dgemm_gflops": rate / 1e9,
        "dgemm_gflops_before": before / 1e9,
    }
    print(f"  {n_experts} experts: {row['cpu_ms_per_point']:.3f} ms a point", flush=True)
    return row


def _with_growth(row: Row, smallest: Row) -> Row:
    """Time per test point, in matrix products, over that of the smallest committee."""
    return {**row, "growth": _products(row) / _products(smallest)}


def _products(row: Row) -> float:
    seconds, rate = row["cpu_ms_per_point"], row["dgemm_gflops"]
    assert isinstance(seconds, float)
    assert isinstance(rate, float)
    return seconds * rate
