"""kin40k: forward dynamics of an eight-link robot arm (section 4.2 of the paper)."""

from __future__ import annotations

import os
from pathlib import Path

from gpcommittee.datasets._read import read_columns, read_text
from gpcommittee.datasets.files import find_files
from gpcommittee.datasets.regression import RegressionData
from gpcommittee.records import FloatArray

FEATURE_NAMES = tuple(f"x{i}" for i in range(1, 9))

_PARQUET = ("kin40k_train.parquet", "kin40k_test.parquet")
_TEXT = (
    "kin40k_train_data.asc",
    "kin40k_train_labels.asc",
    "kin40k_test_data.asc",
    "kin40k_test_labels.asc",
)
_ADVICE = (
    "Seeger's original split is four .asc files, found in the folder data/kin40k of https://github.com/trungngv/fgp "
    "(free for research and non-commercial use)."
)


def load_kin40k(path: str | os.PathLike[str] | None = None) -> RegressionData:
    """Load kin40k in its original split: 10,000 training and 30,000 test rows, 8 inputs.

    Parameters
    ----------
    path : path, optional
        Folder (or one of the files in it) with kin40k_train.parquet and kin40k_test.parquet, columns x1 to x8 and y, or
        with the four original .asc files; the folder in the environment variable GPCOMMITTEE_DATA by default.

    Returns
    -------
    RegressionData

    Raises
    ------
    DatasetNotFoundError
        The files are not there; the message says where to get them.
    InvalidInputError
        Files with other content.

    References
    ----------
    Seeger, Williams and Lawrence, Fast Forward Selection to Speed Up Sparse Gaussian Process Regression, AISTATS 2003.
    """
    found = find_files(path, [_PARQUET, _TEXT], _ADVICE)
    train, test = _from_parquet(found) if len(found) == len(_PARQUET) else _from_text(found)
    return RegressionData("kin40k", *train, *test, FEATURE_NAMES, "The original split, as in the paper.")


def _from_parquet(files: tuple[Path, ...]) -> list[tuple[FloatArray, FloatArray]]:
    return [read_columns(file, FEATURE_NAMES, "y") for file in files]


def _from_text(files: tuple[Path, ...]) -> list[tuple[FloatArray, FloatArray]]:
    n_inputs = len(FEATURE_NAMES)
    return [(read_text(data, n_inputs), read_text(labels, 1)[:, 0]) for data, labels in (files[:2], files[2:])]
