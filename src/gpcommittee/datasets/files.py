"""Finding the files of data sets that are not shipped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpcommittee.errors import DatasetNotFoundError

FOLDER_VARIABLE = "GPCOMMITTEE_DATA"


def find_files(path: str | os.PathLike[str] | None, choices: Iterable[Sequence[str]], advice: str) -> tuple[Path, ...]:
    """The first choice of file names that is complete in a folder.

    Parameters
    ----------
    path : path, optional
        A folder, or one of the files; the folder in GPCOMMITTEE_DATA by default.
    choices : iterable of sequence of str
        Alternative sets of file names, the preferred one first.
    advice : str
        How to get the files, for the message.

    Returns
    -------
    tuple of pathlib.Path

    Raises
    ------
    DatasetNotFoundError
        No choice is complete, or neither path nor variable is given.
    """
    alternatives = [tuple(names) for names in choices]
    folder = _folder(path, advice)
    for names in alternatives:
        if all((folder / name).is_file() for name in names):
            return tuple(folder / name for name in names)
    wanted = ", or ".join(" and ".join(names) for names in alternatives)
    raise DatasetNotFoundError(f"No {wanted} in the folder {str(folder)!r}. {advice}{_way_in()}")


def find_file(path: str | os.PathLike[str] | None, names: Sequence[str], advice: str) -> Path:
    """One file under any of these names, or the very file that `path` names.

    Raises
    ------
    DatasetNotFoundError
        No such file, or neither path nor variable is given.
    """
    if path is not None and Path(path).is_file():
        return Path(path)
    return find_files(path, [[name] for name in names], advice)[0]


def _folder(path: str | os.PathLike[str] | None, advice: str) -> Path:
    named = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not named:
        raise DatasetNotFoundError(f"No path was given and {FOLDER_VARIABLE} is not set. {advice}{_way_in()}")
    folder = Path(named)
    return folder.parent if folder.is_file() else folder


def _way_in() -> str:
    return f" Then pass their folder as path, or set the environment variable {FOLDER_VARIABLE} to it."
