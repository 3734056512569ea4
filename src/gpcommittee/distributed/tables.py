"""Rows of a partition that is a table, by the same rules as any table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gpcommittee.data import ColumnPlan, TableSource, read_table
from gpcommittee.data.sources import Frame
from gpcommittee.distributed.blocks import Block
from gpcommittee.errors import InvalidInputError


@dataclass(frozen=True)
class TableReader:
    """Reads the rows of a table.

    Attributes
    ----------
    plan : ColumnPlan
    with_target : bool
    drop_missing : bool
    """

    plan: ColumnPlan
    with_target: bool
    drop_missing: bool

    def block(self, source: TableSource) -> Block:
        """All rows of one table.

        Raises
        ------
        InvalidInputError
            As `read_table`; the message names the table.
        """
        rows = read_table(source, self.plan, with_target=self.with_target, drop_missing=self.drop_missing)
        return Block(rows.X, rows.y, rows.n_dropped, rows.rows if rows.n_dropped else None)


def as_frame(frame: Any, name: str) -> Frame:
    """A pandas frame as a table, its index left out."""
    try:
        return Frame(pa.Table.from_pandas(frame, preserve_index=False), name)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidInputError(
            f"{name!r} has columns that cannot be used: {error}. They hold neither numbers nor anything else that can, "
            "or two have one name. Convert them, or leave them out."
        ) from error
