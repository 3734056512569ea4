"""A fit's checkpoint: the log of its objective evaluations.

The optimiser is deterministic, so a fit that was killed is resumed by running it again with the evaluations it had made
read from the log instead of computed: the same path, the same result to the last bit, whatever moment it was killed at.
Stages of a fit, which evaluate different experts, share the log and tell their evaluations apart by a key.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.errors import CheckpointError
from gpcommittee.records import FloatArray

VERSION = 2
"""2: evaluations carry the key of their stage."""

Evaluation = tuple[float, FloatArray] | None
"""Objective and gradient, or None where a factor failed."""


def fingerprint(settings: Iterable[object], arrays: Iterable[NDArray[np.generic]]) -> str:
    """Digest of everything that decides a fit's path: its settings and its data."""
    digest = hashlib.blake2b(json.dumps([repr(s) for s in settings]).encode(), digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class EvaluationLog:
    """Evaluations on disk, one JSON line each, appended as they are made.

    Parameters
    ----------
    path : path-like
        Created if it does not exist.
    fit_fingerprint : str
        Of the fit that writes or resumes.

    Attributes
    ----------
    reused : int
        Evaluations that were read from it so far.

    Raises
    ------
    CheckpointError
        If the file belongs to another fit or is not a checkpoint.
    """

    def __init__(self, path: str | os.PathLike[str], fit_fingerprint: str) -> None:
        self.path = Path(path)
        self.reused = 0
        self._known: dict[tuple[str, bytes], Evaluation] = {}
        header = {"gpcommittee_checkpoint": VERSION, "fingerprint": fit_fingerprint}
        content = self._content() if self.path.exists() else b""
        if _is_cut_off_header(content, header):
            self.path.unlink(missing_ok=True)
            self._append(header)
        else:
            self._read(content, fit_fingerprint)

    def get(self, stage: str, theta: FloatArray) -> Evaluation:
        """The logged evaluation of a stage's objective at exactly this point.

        Raises
        ------
        KeyError
            If it is not in the log.
        """
        evaluation = self._known[stage, theta.tobytes()]
        self.reused += 1
        return evaluation

    def add(self, stage: str, theta: FloatArray, evaluation: Evaluation) -> None:
        """Append an evaluation; it is on disk when this returns."""
        value, gradient = (None, None) if evaluation is None else (evaluation[0], evaluation[1].tolist())
        self._append({"stage": stage, "theta": theta.tolist(), "value": value, "gradient": gradient})

    def _append(self, entry: dict[str, object]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise CheckpointError(f"Cannot write the checkpoint {self.path}: {error}.") from error

    def _read(self, content: bytes, fit_fingerprint: str) -> None:
        entries = self._complete_lines(content)
        if not entries or entries[0].get("gpcommittee_checkpoint") != VERSION:
            raise CheckpointError(f"{self.path} is not a checkpoint of this version; choose another path or remove it.")
        if entries[0].get("fingerprint") != fit_fingerprint:
            raise CheckpointError(
                f"The checkpoint {self.path} belongs to another fit (other data, settings or library version); "
                "choose another path or remove it to start afresh."
            )
        try:
            self._known = dict(map(_evaluation, entries[1:]))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{self.path} is damaged ({error!r}); remove it to start afresh.") from error

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise CheckpointError(f"Cannot read the checkpoint {self.path}: {error}.") from error

    def _complete_lines(self, content: bytes) -> list[dict[str, Any]]:
        """Entries of the file; a last line cut off by a kill is removed from it."""
        complete = content[: content.rfind(b"\n") + 1]
        try:
            entries = [dict(json.loads(line)) for line in complete.splitlines()]
        except (TypeError, ValueError) as error:
            raise CheckpointError(f"{self.path} is not a checkpoint; choose another path or remove it.") from error
        if entries and len(complete) < len(content):
            os.truncate(self.path, len(complete))
        return entries


@dataclass(frozen=True)
class StageLog:
    """A log's part of one stage.

    Attributes
    ----------
    log : EvaluationLog
    stage : str
        Key of all that the stage's objective depends on beyond the fit's fingerprint.
    """

    log: EvaluationLog
    stage: str

    def get(self, theta: FloatArray) -> Evaluation:
        """As `EvaluationLog.get`."""
        return self.log.get(self.stage, theta)

    def add(self, theta: FloatArray, evaluation: Evaluation) -> None:
        """As `EvaluationLog.add`."""
        self.log.add(self.stage, theta, evaluation)


def _evaluation(entry: dict[str, Any]) -> tuple[tuple[str, bytes], Evaluation]:
    """Stage, point and evaluation of one line."""
    evaluation = None if entry["value"] is None else (float(entry["value"]), np.array(entry["gradient"], dtype=float))
    return (str(entry["stage"]), np.array(entry["theta"], dtype=float).tobytes()), evaluation


def _is_cut_off_header(content: bytes, header: dict[str, object]) -> bool:
    """Whether a fit was killed while it wrote its first line."""
    return b"\n" not in content and json.dumps(header).encode().startswith(content)
