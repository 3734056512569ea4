"""What a command may change of a study's definition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """None stands for what the study says itself."""

    repeats: int | None = None
    sizes: tuple[int, ...] | None = None
    rows: int | None = None
    test_rows: int | None = None
    data: Path | None = None

    def count(self, default: int) -> int:
        """Number of repeats."""
        return default if self.repeats is None else self.repeats

    def experts(self, n_experts: int, full_rows: int) -> int:
        """Experts that keep their size when the rows are cut, at least two."""
        return max(2, round(n_experts * (self.rows or full_rows) / full_rows))


def size_tag(options: Options, full_rows: int) -> str:
    """Part of a run's name that tells its sizes."""
    test = "" if options.test_rows is None else f"-t{options.test_rows}"
    return f"n{options.rows or full_rows}{test}"
