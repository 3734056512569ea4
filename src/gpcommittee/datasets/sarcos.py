"""sarcos: inverse dynamics of a seven-joint robot arm (section 4.2 of the paper)."""

from __future__ import annotations

import os
from pathlib import Path

from gpcommittee.datasets._read import read_columns, read_matlab
from gpcommittee.datasets.files import find_files
from gpcommittee.datasets.regression import RegressionData, random_split
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import FloatArray

FEATURE_NAMES = tuple(f"{quantity}{joint}" for quantity in ("pos", "vel", "acc") for joint in range(1, 8))
N_TORQUES = 7

_MATLAB = ("sarcos_inv.mat", "sarcos_inv_test.mat")
_PARQUET = ("sarcos_train_file.parquet", "sarcos_test_file.parquet")
_TEST_ONLY = ("sarcos_test_file.parquet",)
_ADVICE = "Download sarcos_inv.mat and sarcos_inv_test.mat from https://gaussianprocess.org/gpml/data/."

_FULL = "The original split of 44,484 and 4,449 rows, as in the paper."
_PART = (
    "Not the paper's split: only the test file is at hand, so {n_train} of its rows (drawn with seed {seed}) are for "
    "training and the other {n_test} for testing."
)


def load_sarcos(
    path: str | os.PathLike[str] | None = None, *, torque: int = 1, n_train: int = 4000, seed: int = 0
) -> RegressionData:
    """Load sarcos: 21 inputs (position, velocity, acceleration of 7 joints), the torque of one joint as target.

    With both original files this is the paper's split of 44,484 training and 4,449 test rows. With the test file alone
    its 4,449 rows are split at random, and the record's note says so.

    Parameters
    ----------
    path : path, optional
        Folder (or one of the files in it) with sarcos_inv.mat and sarcos_inv_test.mat, or with sarcos_test_file.parquet
        and perhaps sarcos_train_file.parquet, columns pos1 to pos7, vel1 to vel7, acc1 to acc7, torque1 to torque7; the
        folder in the environment variable GPCOMMITTEE_DATA by default.
    torque : int, default=1
        Joint whose torque is the target, 1 to 7; the paper uses 1.
    n_train, seed : int, default=4000 and 0
        Training rows, and the seed of the draw, when only the test file is at hand.

    Returns
    -------
    RegressionData

    Raises
    ------
    DatasetNotFoundError
        The files are not there; the message says where to get them.
    InvalidInputError
        Files with other content.
    InvalidParameterError
        `torque` outside 1 to 7, or `n_train` that leaves no training or no test row.

    References
    ----------
    Rasmussen and Williams (2006), section 2.5.
    """
    if torque not in range(1, N_TORQUES + 1):
        raise InvalidParameterError(f"torque must be the number of a joint, 1 to {N_TORQUES}, got {torque}.")
    found = find_files(path, [_MATLAB, _PARQUET, _TEST_ONLY], _ADVICE)
    parts = [_read(file, torque) for file in found]
    if len(parts) == 1:
        X, y = parts[0]
        note = _PART.format(n_train=n_train, seed=seed, n_test=len(X) - n_train)
        return random_split("sarcos", X, y, FEATURE_NAMES, n_train=n_train, seed=seed, note=note)
    train, test = parts
    return RegressionData("sarcos", *train, *test, FEATURE_NAMES, _FULL)


def _read(file: Path, torque: int) -> tuple[FloatArray, FloatArray]:
    if file.suffix == ".parquet":
        return read_columns(file, FEATURE_NAMES, f"torque{torque}")
    n_inputs = len(FEATURE_NAMES)
    values = read_matlab(file, file.stem, n_inputs + N_TORQUES)
    return values[:, :n_inputs], values[:, n_inputs + torque - 1]
