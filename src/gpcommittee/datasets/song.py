"""song: the year of a song from 90 timbre features (section 4.3 of the paper)."""

from __future__ import annotations

import os

from gpcommittee.datasets._read import read_headless_csv
from gpcommittee.datasets.files import find_file
from gpcommittee.datasets.regression import RegressionData, random_split

FEATURE_NAMES = (
    *(f"timbre_mean_{i}" for i in range(1, 13)),
    *(f"timbre_covariance_{i}" for i in range(1, 79)),
)

_NAMES = ("YearPredictionMSD.txt", "YearPredictionMSD.csv")
_ADVICE = (
    "Download YearPredictionMSD from the UCI repository, https://archive.ics.uci.edu/dataset/203/yearpredictionmsd, "
    "and unpack YearPredictionMSD.txt."
)
_NOTE = (
    "{n_train} training and {n_test} test rows drawn with seed {seed}; the paper has 450,000 and 65,345 but does not "
    "say which. UCI's own split (463,715 and 51,630 in file order) keeps each artist on one side; this one does not."
)


def load_song(path: str | os.PathLike[str] | None = None, *, n_train: int = 450_000, seed: int = 0) -> RegressionData:
    """Load song (YearPredictionMSD): 90 inputs, the year of release as target, split at random.

    Parameters
    ----------
    path : path, optional
        The UCI text file, or the folder with YearPredictionMSD.txt; the folder in the environment variable
        GPCOMMITTEE_DATA by default.
    n_train : int, default=450_000
        Training rows, as in the paper; the others are for testing.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    RegressionData

    Raises
    ------
    DatasetNotFoundError
        The file is not there; the message says where to get it.
    InvalidInputError
        A file with other content.
    InvalidParameterError
        `n_train` that leaves no training or no test row.

    References
    ----------
    Bertin-Mahieux, Ellis, Whitman and Lamere, The Million Song Dataset, ISMIR 2011.
    """
    values = read_headless_csv(find_file(path, _NAMES, _ADVICE), 1 + len(FEATURE_NAMES))
    note = _NOTE.format(n_train=n_train, n_test=len(values) - n_train, seed=seed)
    return random_split("song", values[:, 1:], values[:, 0], FEATURE_NAMES, n_train=n_train, seed=seed, note=note)
