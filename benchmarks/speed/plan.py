"""Peak memory and time of a fit and a prediction, planned and measured, each in a process of its own."""

from __future__ import annotations

from benchmarks._child import Answer, ask_child
from benchmarks._data import load_rows
from benchmarks._memory import GIBIBYTE
from benchmarks.paper.measure import Row
from benchmarks.speed.options import Options
from gpcommittee.planning import Memory, plan_fit

KERNELS = {"kin40k": "squared_exponential", "geoid": "matern32", "electric": "squared_exponential"}


def plan(options: Options) -> list[Row]:
    """Two rows per data set: fit and prediction."""
    return [row for name in KERNELS for row in _of_data(name, options)]


def _of_data(name: str, options: Options) -> list[Row]:
    rows, test_rows = _sizes(name, options)
    data = load_rows(name, rows, test_rows, 0, options.data)
    limit = {} if options.max_evaluations is None else {"max_evaluations": options.max_evaluations}
    settings = {"kernel": KERNELS[name], "n_jobs": 1, **limit}
    measured = ask_child(
        "benchmarks.speed.planned",
        {**settings, "random_state": 0},
        {"X": data.X_train, "y": data.y_train, "X_test": data.X_test},
    )
    shape = (*data.X_train.shape, len(data.X_test))
    planned = plan_fit(*shape, **settings, machine_rate=measured["fit"]["dgemm_gflops"] * 1e9)  # type: ignore[arg-type]
    print(f"  {name}: measured {measured['predict']['peak_gib']:.2f} GiB", flush=True)
    evaluations = {"planned_evaluations": planned.evaluations, "evaluations": measured["evaluations"]}
    return [
        _row(name, "fit", measured, planned.fit_memory, planned.fit_seconds) | evaluations,
        _row(name, "predict", measured, planned.predict_memory, planned.predict_seconds),
    ]


def _sizes(name: str, options: Options) -> tuple[int | None, int | None]:
    if name == "kin40k":
        return options.kin40k_rows, options.plan_test_rows if options.kin40k_rows else None
    return options.rows, options.plan_test_rows


def _row(name: str, stage: str, measured: Answer, memory: Memory, seconds: float) -> Row:
    found = measured[stage]
    return {
        "dataset": name,
        "stage": stage,
        "n_train": measured["n_train"],
        "n_test": measured["n_test"],
        "peak_gib": found["peak_gib"],
        "planned_gib": memory.peak / GIBIBYTE,
        "memory_ratio": memory.peak / GIBIBYTE / found["peak_gib"],
        "cpu_seconds": found["cpu_seconds"],
        "wall_seconds": found["wall_seconds"],
        "planned_seconds": seconds,
        "time_ratio": seconds / found["cpu_seconds"],
        "dgemm_gflops": found["dgemm_gflops"],
    }
