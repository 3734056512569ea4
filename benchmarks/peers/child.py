"""One run's process: fit, predict, time and peak memory. It imports no other system than its own."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from benchmarks._child import Answer, Arrays, answer_parent
from benchmarks._memory import forget_peak_memory, peak_memory_gib, resident_memory_gib
from benchmarks.paper.clock import timed


def work(question: Answer, arrays: Arrays) -> tuple[Answer, Arrays]:
    """Fit on standardised X and y, predict at X_test; predictions in the same units."""
    system: Any = import_module(f"benchmarks.peers.systems.{question['module']}")
    X, y, X_test = (arrays[name] for name in ("X", "y", "X_test"))
    before = resident_memory_gib()
    forget_peak_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted, fit = timed(lambda: system.fit(X, y, question["seed"], **question["settings"]))
        fit_peak = peak_memory_gib()
        (mean, variance), predict = timed(lambda: fitted.predict(X_test))
    answer = {
        "fit_wall_s": fit.wall,
        "fit_cpu_s": fit.cpu,
        "predict_wall_s": predict.wall,
        "predict_cpu_s": predict.cpu,
        "memory_before_gib": before,
        "fit_peak_gib": fit_peak,
        "peak_memory_gib": peak_memory_gib(),
        "learned": fitted.learned(),
        "warnings": sorted({str(warning.message) for warning in caught}),
    }
    return answer, {"mean": mean, "variance": variance}


if __name__ == "__main__":
    answer_parent(work)
