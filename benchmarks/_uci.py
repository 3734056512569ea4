"""UCI regression sets and their ten published 90/10 splits, those of github.com/treforevans/uci_datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gpcommittee.datasets import RegressionData
from gpcommittee.datasets.files import find_files

NAMES = ("elevators", "pol", "bike", "keggdirected", "kin40k")
N_SPLITS = 10
FOLDER = "uci"
ADVICE = (
    "Each set is two files in a folder 'uci': NAME.parquet, the rows of https://github.com/treforevans/uci_datasets in "
    "their order with the target last, and NAME_splits.npz, the bits of the test masks of its ten splits."
)


def load_uci(name: str, split: int, path: Path | None = None) -> RegressionData:
    """Training and test rows of a published split, in the units of the file.

    Raises
    ------
    DatasetNotFoundError
        If ``uci/NAME.parquet`` and its splits are not in ``path``, by default the folder in GPCOMMITTEE_DATA.
    """
    file, masks = _files(name, path)
    table = pq.read_table(file)
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in table.columns])
    X, y, test = values[:, :-1], values[:, -1], _masks(masks)[:, split]
    note = f"Split {split} of {N_SPLITS} as published, {len(y):,} rows in all."
    return RegressionData(name, X[~test], y[~test], X[test], y[test], tuple(table.column_names[:-1]), note)


def masks_uci(name: str, path: Path | None = None) -> NDArray[np.bool_]:
    """Which rows each published split tests, shape (n_rows, N_SPLITS); raises as ``load_uci``."""
    return _masks(_files(name, path)[1])


def standardised(data: RegressionData) -> RegressionData:
    """The same rows, with targets in deviations from the mean of the training rows."""
    mean, deviation = data.y_train.mean(), data.y_train.std()
    return replace(data, y_train=(data.y_train - mean) / deviation, y_test=(data.y_test - mean) / deviation)


def _files(name: str, path: Path | None) -> tuple[Path, Path]:
    wanted = (f"{FOLDER}/{name}.parquet", f"{FOLDER}/{name}_splits.npz")
    file, masks = find_files(path, [wanted], ADVICE)
    return file, masks


def _masks(file: Path) -> NDArray[np.bool_]:
    with np.load(file) as stored:
        return np.unpackbits(stored["test"], axis=0, count=int(stored["n"])).astype(bool)
