"""Rows of a data set by name and size, real or made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._synthetic import FAMILIES, synthetic
from benchmarks.paper.data import cut
from gpcommittee.datasets import RegressionData, load_electric, load_kin40k, load_sarcos
from gpcommittee.datasets.geoid import N_CELLS, load_geoid, load_geoid_split

Loader = Callable[[int | None, int | None, int, Path | None], RegressionData]


def load_rows(name: str, rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    """The first rows of a data set whose order is random already; None for all of them, of made ones for 10,000.

    Raises
    ------
    DatasetNotFoundError
        If its files are not in ``path``, by default the folder in GPCOMMITTEE_DATA.
    """
    return LOADERS[name](rows, test_rows, seed, path)


def _kin40k(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    return cut(load_kin40k(path), rows, test_rows)


def _sarcos(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    return cut(load_sarcos(path, seed=seed), rows, test_rows)


def _electric(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    return cut(load_electric(path, seed=seed), rows, test_rows)


def _geoid(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    train, test = load_geoid_split(rows or 938_240, test_rows or 100_000, seed)
    note = f"{len(train.X):,} and {len(test.X):,} of the 1,038,240 grid points, drawn with seed {seed}."
    return RegressionData("geoid", train.X, train.height, test.X, test.height, ("x", "y", "z"), note)


def _dense_geoid(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
    """Every grid point in a window of the Earth, as dense as in the whole."""
    geoid = load_geoid(N_CELLS)
    window = np.flatnonzero((np.abs(geoid.latitude) < 30) & (geoid.longitude < 90))
    order = np.random.default_rng(seed).permutation(window)
    n_test = test_rows or len(order) // 10
    test, train = order[:n_test], order[n_test:][:rows]
    note = (
        f"{len(train):,} and {n_test:,} of the {len(order):,} grid points within 30 degrees of the equator, 0 to 90 E."
    )
    names = ("x", "y", "z")
    return RegressionData(
        "geoid window", geoid.X[train], geoid.height[train], geoid.X[test], geoid.height[test], names, note
    )


def _synthetic(name: str) -> Loader:
    def load(rows: int | None, test_rows: int | None, seed: int, path: Path | None) -> RegressionData:
        return synthetic(name, rows or 10_000, test_rows or 10_000, seed)

    return load


LOADERS: dict[str, Loader] = {
    "kin40k": _kin40k,
    "geoid": _geoid,
    "geoid window": _dense_geoid,
    "sarcos": _sarcos,
    "electric": _electric,
    **{name: _synthetic(name) for name in FAMILIES},
}
