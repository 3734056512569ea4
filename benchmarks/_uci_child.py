"""The child of ``uci``: one fit with the defaults and one prediction with deviations, their time and peak memory."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks._child import Answer, Arrays, answer_parent
from benchmarks._memory import forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import timed
from gpcommittee import CommitteeRegressor


def work(question: Answer, arrays: Arrays) -> tuple[Answer, Arrays]:
    """Fit to the arrays X and y, predict at X_test."""
    model = CommitteeRegressor(random_state=question["seed"], n_jobs=1)
    forget_peak_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, fit = timed(lambda: model.fit(arrays["X"], arrays["y"]))
        (mean, std), predict = timed(lambda: model.predict(arrays["X_test"], return_std=True))
    answer = {
        "kernel": model.kernel_name_,
        "fit_cpu_s": fit.cpu,
        "predict_cpu_s": predict.cpu,
        "peak_memory_gib": peak_memory_gib(),
        "warnings": sorted({str(warning.message) for warning in caught}),
    }
    return answer, {"mean": np.asarray(mean), "std": std}


if __name__ == "__main__":
    answer_parent(work)
