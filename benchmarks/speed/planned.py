"""The child of ``plan``: one fit and one prediction, their time, peak memory and the matrix-product rate meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from benchmarks._child import Answer, Arrays, answer_parent
from benchmarks._memory import forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import timed
from gpcommittee import CommitteeRegressor
from gpcommittee.errors import GPCommitteeWarning
from gpcommittee.planning.rate import measure_dgemm_rate


def work(settings: Answer, arrays: Arrays) -> tuple[Answer, Arrays]:
    """Fit on the arrays X and y, predict at X_test."""
    warnings.simplefilter("ignore", GPCommitteeWarning)
    model = CommitteeRegressor(**settings)
    answer = {
        "n_train": len(arrays["X"]),
        "n_test": len(arrays["X_test"]),
        "fit": _stage(lambda: model.fit(arrays["X"], arrays["y"])),
        "predict": _stage(lambda: model.predict(arrays["X_test"], return_std=True)),
    }
    assert model.training_ is not None
    return answer | {"evaluations": model.training_.evaluations}, {}


def _stage(stage: Callable[[], object]) -> Answer:
    before = measure_dgemm_rate(1)
    forget_peak_memory()
    _, elapsed = timed(stage)
    return {
        "peak_gib": peak_memory_gib(),
        "cpu_seconds": elapsed.cpu,
        "wall_seconds": elapsed.wall,
        "dgemm_gflops": (before + measure_dgemm_rate(1)) / 2e9,
    }


if __name__ == "__main__":
    answer_parent(work)
