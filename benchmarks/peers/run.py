"""From a run's definition to its stored result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks._child import Answer, ask_child
from benchmarks._data import load_rows
from benchmarks._machine import version_of
from benchmarks.paper.machine import machine, versions
from benchmarks.paper.measure import Row
from benchmarks.paper.store import result_file, write_rows
from benchmarks.peers.spec import PeerRun, PeerSystem
from benchmarks.speed.store import load_average
from gpcommittee import CommitteeRegressor
from gpcommittee.data import restore_mean, restore_variance, standardisation, standardise_inputs, standardise_target
from gpcommittee.datasets import RegressionData
from gpcommittee.metrics import score_report
from gpcommittee.planning.rate import measure_dgemm_rate


@dataclass(frozen=True)
class Place:
    """Where runs find data and put results."""

    results: Path
    data: Path | None = None


def execute(run: PeerRun, place: Place) -> float:
    """Run in a process of its own, store, and return the processor seconds of fit and prediction.

    Raises
    ------
    ChildError
        If the process fails.
    DatasetNotFoundError
        If the data are not there.
    """
    data = load_rows(run.study, run.rows, run.test_rows, run.seed, place.data)
    before, load = measure_dgemm_rate(1), load_average()
    answer = _ask(run, data)
    row = {
        **_identity(run, data),
        **_scores(data, answer),
        **{key: value for key, value in answer.items() if key not in ("mean", "variance", "learned", "warnings")},
        "learned": json.dumps(answer["learned"]),
        "warnings": json.dumps(answer["warnings"]),
        "dgemm_gflops": (before + measure_dgemm_rate(1)) / 2e9,
        "load_before": load,
        "load_after": load_average(),
        **{f"machine_{key}": value for key, value in machine().items()},
        "versions": json.dumps({**versions(), "gpboost": version_of("gpboost")}),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_rows(result_file(place.results, run), [row])
    return float(answer["fit_cpu_s"] + answer["predict_cpu_s"])


def unknown_settings(system: PeerSystem) -> list[str]:
    """Settings of a committee that this version of the library does not have."""
    if system.module != "committee":
        return []
    return sorted(set(system.settings) - {"paper"} - set(CommitteeRegressor().get_params()))


def _ask(run: PeerRun, data: RegressionData) -> Answer:
    """Predictions in the target's own units, and what the process says of itself."""
    scaling = standardisation(data.X_train, data.y_train)
    question = {"module": run.system.module, "settings": dict(run.system.settings), "seed": run.seed}
    arrays = {
        "X": standardise_inputs(data.X_train, scaling),
        "y": standardise_target(data.y_train, scaling),
        "X_test": standardise_inputs(data.X_test, scaling),
    }
    answer = ask_child("benchmarks.peers.child", question, arrays)
    mean, variance = restore_mean(answer["mean"], scaling), restore_variance(answer["variance"], scaling)
    return answer | {"mean": mean, "variance": variance}


def _identity(run: PeerRun, data: RegressionData) -> Row:
    return {
        "study": run.study,
        "run": run.name,
        "tag": run.system.tag,
        "system": run.system.label,
        "data_note": data.note,
        "n_train": len(data.X_train),
        "n_test": len(data.X_test),
        "n_features": data.X_train.shape[1],
        "seed": run.seed,
        "n_jobs": 1,
        "settings": run.settings(),
    }


def _scores(data: RegressionData, answer: Answer) -> Row:
    report = score_report(
        data.y_test,
        answer["mean"],
        np.sqrt(answer["variance"]),
        y_train_mean=float(data.y_train.mean()),
        y_train_var=float(data.y_train.var()),
    )
    return dict(report.to_dict())
