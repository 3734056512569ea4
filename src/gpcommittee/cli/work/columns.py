"""What the user said about a training table's columns."""

from __future__ import annotations

from dataclasses import dataclass

from gpcommittee.data import ColumnPlan, TableSource, plan_columns


@dataclass(frozen=True)
class Columns:
    """Columns by name.

    Attributes
    ----------
    target : str
    features : tuple of str or None
        None for all but the target.
    expand_dates : bool
    """

    target: str
    features: tuple[str, ...] | None
    expand_dates: bool

    def plan(self, source: TableSource) -> ColumnPlan:
        """The column plan of a table."""
        return plan_columns(source, self.target, self.features, self.expand_dates)
