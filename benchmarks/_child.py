"""Work in a process of its own, with one thread, so that its peak memory and its libraries' threads are its own.

Both sides live here; the child's imports NumPy alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float64]]
Answer = dict[str, Any]

ROOT = Path(__file__).parents[1]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
QUESTION, ANSWER = "question.json", "answer.json"
LAST_WORDS = 2000


class ChildError(Exception):
    """The child ended without an answer."""


def ask_child(module: str, question: Mapping[str, object], arrays: Mapping[str, NDArray[np.float64]]) -> Answer:
    """Run ``python -m module`` on a question and arrays; its answer, and its arrays by name among it.

    Raises
    ------
    ChildError
        If it fails; the message holds the end of what it said.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / QUESTION).write_text(json.dumps(dict(question)), encoding="utf-8")
        for key, values in arrays.items():
            np.save(folder / f"{key}.npy", values)
        command = [sys.executable, "-m", module, str(folder)]
        run = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True)
        if run.returncode:
            raise ChildError(f"{module} ended with {run.returncode}:\n{(run.stdout + run.stderr)[-LAST_WORDS:]}")
        answer: Answer = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
        return answer | {key: np.load(folder / f"{key}.npy") for key in answer.pop("arrays")}


def answer_parent(work: Callable[[Answer, Arrays], tuple[Answer, Arrays]]) -> None:
    """The child's side: read question and arrays, work, write the answer."""
    folder = Path(sys.argv[1])
    given = {file.stem: np.load(file) for file in folder.glob("*.npy")}
    answer, arrays = work(json.loads((folder / QUESTION).read_text(encoding="utf-8")), given)
    for key, values in arrays.items():
        np.save(folder / f"{key}.npy", values)
    (folder / ANSWER).write_text(json.dumps(answer | {"arrays": list(arrays)}), encoding="utf-8")


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | dict.fromkeys(THREAD_VARIABLES, "1") | {"PYTHONPATH": path}
