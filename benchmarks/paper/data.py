"""From a data definition to rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.paper.spec import DataSpec
from gpcommittee.datasets import (
    RegressionData,
    load_electric,
    load_kin40k,
    load_sarcos,
    load_song,
    make_toy,
    toy_function,
)
from gpcommittee.datasets.toy import NOISE_VARIANCE
from gpcommittee.records import FloatArray

TEST_RANGE = (-0.2, 1.2)
GRID = np.linspace(*TEST_RANGE, 281)
INTERIOR = np.linspace(0.05, 0.95, 181)

Loader = Callable[[DataSpec, Path | None], RegressionData]


@dataclass(frozen=True)
class StudyData:
    """Training and test rows, and the variance of the noise where it is known."""

    regression: RegressionData
    noise_variance: float | None = None


def load(spec: DataSpec, path: Path | None) -> StudyData:
    """The rows of a definition; files are looked for in ``path``, by default in GPCOMMITTEE_DATA.

    Raises
    ------
    DatasetNotFoundError
        If the files are not there.
    """
    data = LOADERS[spec.name](spec, path)
    noise = NOISE_VARIANCE if spec.name.startswith("toy") else None
    return StudyData(cut(data, spec.rows, spec.test_rows), noise)


def cut(data: RegressionData, rows: int | None, test_rows: int | None) -> RegressionData:
    """The first rows of a set whose order is random already."""
    if (rows or np.inf) >= len(data.X_train) and (test_rows or np.inf) >= len(data.X_test):
        return data
    train, test = slice(rows), slice(test_rows)
    return replace(
        data,
        X_train=data.X_train[train],
        y_train=data.y_train[train],
        X_test=data.X_test[test],
        y_test=data.y_test[test],
        note=f"{data.note} Cut to {len(data.X_train[train]):,} training and {len(data.X_test[test]):,} test rows.",
    )


def _toy(spec: DataSpec, path: Path | None) -> RegressionData:
    """Section 4.1: uniform in [0, 1], tested on a tenth as many points in [-0.2, 1.2]."""
    n = spec.rows or 10_000
    train = make_toy(n, seed=2 * spec.seed)
    test = make_toy(spec.test_rows or n // 10, seed=2 * spec.seed + 1, x_range=TEST_RANGE)
    return RegressionData("toy", train.X, train.y, test.X, test.y, ("x",), "Drawn as in section 4.1.")


def _toy_interior(spec: DataSpec, path: Path | None) -> RegressionData:
    """The toy function without noise on a grid inside [0, 1], where the propositions speak."""
    train = make_toy(spec.rows or 10_000, seed=2 * spec.seed)
    note = "Tested on the function itself at 181 points of [0.05, 0.95]."
    return RegressionData("toy", train.X, train.y, INTERIOR[:, None], toy_function(INTERIOR), ("x",), note)


def _kin40k(spec: DataSpec, path: Path | None) -> RegressionData:
    return load_kin40k(path)


def _sarcos(spec: DataSpec, path: Path | None) -> RegressionData:
    return load_sarcos(path)


def _electric(spec: DataSpec, path: Path | None) -> RegressionData:
    return load_electric(path, seed=spec.seed)


def _song(spec: DataSpec, path: Path | None) -> RegressionData:
    return load_song(path, seed=spec.seed)


LOADERS: dict[str, Loader] = {
    "toy": _toy,
    "toy_interior": _toy_interior,
    "kin40k": _kin40k,
    "sarcos": _sarcos,
    "electric": _electric,
    "song": _song,
}


def grid() -> FloatArray:
    """Inputs of the curves of Fig. 3."""
    return GRID[:, None]
