"""Results of a benchmark as one JSON file, with what made them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.paper.machine import machine, versions
from benchmarks.paper.measure import Row
from benchmarks.speed.options import Options

Stored = dict[str, Any]


def load_average() -> float | None:
    """Processes that wanted a core in the last minute; None where the system does not tell."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def write_result(folder: Path, name: str, rows: Sequence[Row], options: Options, load_before: float | None) -> Path:
    """Write the rows of a benchmark; a file under the final name is always complete."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = {
        "benchmark": name,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "load": {"before": load_before, "after": load_average()},
        "options": {key: value for key, value in asdict(options).items() if key != "data"},
        "rows": list(rows),
    }
    file = folder / f"{name}.json"
    temporary = file.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def read_result(folder: Path, name: str) -> Stored | None:
    """What is stored of a benchmark; None if nothing is."""
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    stored: Stored = json.loads(file.read_text(encoding="utf-8"))
    return stored
