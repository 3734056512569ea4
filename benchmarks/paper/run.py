"""From a run's definition to its stored result."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from benchmarks._memory import forget_peak_memory, peak_memory_gib
from benchmarks.paper.clock import Elapsed, timed
from benchmarks.paper.data import StudyData, grid, load
from benchmarks.paper.machine import dgemm_rate, machine, versions
from benchmarks.paper.measure import MEASURES, Row
from benchmarks.paper.spec import RunSpec
from benchmarks.paper.store import curves_file, result_file, write_rows
from benchmarks.paper.systems import Fitted, Predicted


@dataclass(frozen=True)
class Place:
    """Where runs find data, put results, and how many threads they take."""

    results: Path
    data: Path | None = None
    n_jobs: int = 1


def execute(spec: RunSpec, place: Place) -> float:
    """Run, store, and return the wall-clock seconds of fit and predictions."""
    data = load(spec.data, place.data)
    rate = dgemm_rate()
    forget_peak_memory()
    rows = data.regression
    with threads(place.n_jobs), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted, fit_time = timed(lambda: spec.system.fit(rows.X_train, rows.y_train, spec.repeat, place.n_jobs))
        predicted, predict_time = timed(lambda: fitted.predict(rows.X_test))
        curves = fitted.predict(grid()) if spec.data.grid else []
    shared = {
        **_identity(spec, data),
        "n_jobs": place.n_jobs,
        "fit_wall_s": fit_time.wall,
        "fit_cpu_s": fit_time.cpu,
        "dgemm_gflops": rate,
        "peak_memory_gib": peak_memory_gib(),
        **_made_with(fitted, sorted({str(warning.message) for warning in caught})),
    }
    if curves:
        write_rows(curves_file(place.results, spec), _curve_rows(spec, data, curves))
    write_rows(result_file(place.results, spec), [_row(spec, data, one, shared) for one in predicted])
    return fit_time.wall + predict_time.wall


@contextmanager
def threads(n_jobs: int) -> Iterator[None]:
    """Hold PyTorch and BLAS to ``n_jobs`` threads in this block."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_jobs)
    try:
        with threadpool_limits(n_jobs):
            yield
    finally:
        torch.set_num_threads(before)


def _identity(spec: RunSpec, data: StudyData) -> Row:
    """What the run is, settings both in columns and as one text."""
    rows, system = data.regression, asdict(spec.system)
    return {
        "study": spec.study,
        "run": spec.name,
        "dataset": rows.name,
        "data_note": rows.note,
        "n_train": len(rows.X_train),
        "n_test": len(rows.X_test),
        "n_features": rows.X_train.shape[1],
        "repeat": spec.repeat,
        "data_seed": spec.data.seed,
        "system": type(spec.system).__name__,
        **{name: value for name, value in system.items() if not isinstance(value, dict)},
        "settings": spec.settings(),
    }


def _made_with(fitted: Fitted, messages: Sequence[str]) -> Row:
    return {
        "learned": json.dumps(fitted.details()),
        "warnings": json.dumps(messages),
        **{f"machine_{name}": value for name, value in machine().items()},
        "versions": json.dumps(versions()),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _row(spec: RunSpec, data: StudyData, predicted: Predicted, shared: Row) -> Row:
    elapsed: Elapsed = predicted.elapsed
    return {
        "method": predicted.method,
        "form": predicted.form,
        **MEASURES[spec.measure](data, predicted),
        "predict_wall_s": elapsed.wall,
        "predict_cpu_s": elapsed.cpu,
        **shared,
    }


def _curve_rows(spec: RunSpec, data: StudyData, curves: Sequence[Predicted]) -> list[Row]:
    return [
        {
            "run": spec.name,
            "n_train": len(data.regression.X_train),
            "method": curve.method,
            "form": curve.form,
            "x": float(x),
            "mean": float(mean),
            "std": float(std),
        }
        for curve in curves
        for x, mean, std in zip(grid()[:, 0], curve.mean, curve.std, strict=True)
    ]
