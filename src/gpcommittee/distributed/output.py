"""A folder of predictions, one Parquet file for each partition of the input, and what its files were made of.

A file appears under its name only when it is complete, and a manifest says of which model and which input the files of
a folder are. So a run that was stopped is taken up where it ended, and no file of other rows or another model is taken
for one of this run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcommittee.data.endings import is_parquet
from gpcommittee.errors import InvalidParameterError
from gpcommittee.files import TEMPORARY, replacing, why_not_writable

MANIFEST = "_gpcommittee.json"
"""Readers of Parquet folders skip names that begin with an underscore."""

FORMAT = 1

NAME = re.compile(r"part-\d{5,}\.parquet")
"""Of a file of predictions: nothing else in the folder is ever removed."""


@dataclass(frozen=True)
class OutputFolder:
    """Files of one run.

    Attributes
    ----------
    path : pathlib.Path
    files : tuple of str
        File of each partition.
    finished : frozenset of int
        Partitions whose file an earlier run has written.
    """

    path: Path
    files: tuple[str, ...]
    finished: frozenset[int]

    def file(self, number: int) -> Path:
        """Path of one partition's file."""
        return self.path / self.files[number]

    @property
    def missing(self) -> list[int]:
        """Partitions still to be predicted."""
        return [number for number in range(len(self.files)) if number not in self.finished]


def open_output(path: Path, model: str, columns: Sequence[str], identities: Sequence[str]) -> OutputFolder:
    """Make the folder ready: keep the files of an earlier run with this model and input, remove its other ones.

    Parameters
    ----------
    path : pathlib.Path
        Made if it does not exist; the folder that it is in must.
    model : str
        Tells this model and what is asked of it from any other.
    columns : sequence of str
        Of the predictions.
    identities : sequence of str
        One for each partition of the input.

    Returns
    -------
    OutputFolder

    Raises
    ------
    InvalidParameterError
        A path that cannot be written, or a folder with Parquet files that are no predictions of this package.
    """
    folder = _writable(Path(path).resolve())
    files = tuple(f"part-{number:05d}.parquet" for number in range(len(identities)))
    wanted = {
        "format": FORMAT,
        "model": model,
        "columns": list(columns),
        "parts": dict(zip(files, identities, strict=True)),
    }
    before = _read_manifest(folder)
    kept = _still_good(folder, before, wanted)
    for stale in [*(folder / name for name in before.get("parts", {}) if name not in kept), *folder.glob(TEMPORARY)]:
        stale.unlink(missing_ok=True)
    with replacing(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
    return OutputFolder(folder, files, frozenset(number for number, name in enumerate(files) if name in kept))


def _writable(folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise InvalidParameterError(f"{str(folder)!r} is a file; predictions of partitions need a folder.")
    problem = why_not_writable(folder) if not folder.exists() else why_not_writable(folder / MANIFEST)
    if problem:
        raise InvalidParameterError(f"Cannot write to folder {str(folder)!r}: {problem}")
    folder.mkdir(exist_ok=True)
    return folder


def _read_manifest(folder: Path) -> dict[str, Any]:
    """What an earlier run says of the folder; empty for a folder without Parquet files."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if isinstance(content, dict) and content["format"] == FORMAT and _are_names(folder, content["parts"]):
            return content
    except FileNotFoundError:
        if not any(is_parquet(path) for path in folder.iterdir()):
            return {}
    except (KeyError, ValueError):
        pass
    raise InvalidParameterError(
        f"Folder {str(folder)!r} holds files that are no predictions of this version (no {MANIFEST} that it can read). "
        "Name another folder, or empty this one."
    )


def _are_names(folder: Path, parts: object) -> bool:
    """Whether these are files of predictions, or files that are gone."""
    return isinstance(parts, dict) and all(NAME.fullmatch(name) and not (folder / name).is_dir() for name in parts)


def _still_good(folder: Path, before: dict[str, Any], wanted: dict[str, Any]) -> set[str]:
    """Names of the files that need not be written again."""
    if any(before.get(key) != wanted[key] for key in ("model", "columns")):
        return set()
    parts: dict[str, str] = before["parts"]
    return {
        name for name, made_of in wanted["parts"].items() if parts.get(name) == made_of and (folder / name).is_file()
    }
