"""Counts of missing and infinite values by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from gpcommittee.data._wording import listing
from gpcommittee.errors import InvalidInputError
from gpcommittee.records import FloatArray


class Tally:
    """What was found so far; the only mutable thing while a table streams by."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_incomplete = 0
        self._missing: Counter[str] = Counter()
        self._infinite: Counter[str] = Counter()

    def add(self, columns: Mapping[str, FloatArray], incomplete: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Count a batch: one array of values per source column, and which rows lack any."""
        self.n_rows += len(incomplete)
        self.n_incomplete += int(incomplete.sum())
        for name, values in columns.items():
            self._missing[name] += int(np.isnan(values).sum())
            self._infinite[name] += int(np.isinf(values).sum())

    def refuse(self, table: str, drop_missing: bool) -> None:
        """Raise when there are infinite values, or missing values that nobody asked to drop."""
        problems = []
        if self.n_incomplete and not drop_missing:
            problems.append(
                f"missing values (empty or NaN) in {self.n_incomplete} of {self.n_rows} rows, by column "
                f"{_by_column(self._missing)}: fill them in, or leave these rows out with drop_missing"
            )
        if self._infinite.total():
            problems.append(f"infinity, by column {_by_column(self._infinite)}: correct or remove these rows")
        if problems:
            raise InvalidInputError(f"{table!r} contains {'; and '.join(problems)}.")


def _by_column(counts: Counter[str]) -> str:
    return listing([f"{name!r} {count}" for name, count in counts.items() if count])
