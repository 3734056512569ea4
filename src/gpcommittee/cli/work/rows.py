"""Tables that have no row to work with."""

from __future__ import annotations

from pathlib import Path

from gpcommittee.cli.work.talk import counted
from gpcommittee.data import TableSource
from gpcommittee.errors import InvalidInputError


def require_rows(data: Path, source: TableSource, n_rows: int, purpose: str) -> None:
    """Refuse a table without a row that can be used.

    Parameters
    ----------
    data : pathlib.Path
    source : TableSource
        The table, opened.
    n_rows : int
        Its rows that can be used.
    purpose : str
        What the rows are for, as an infinitive.

    Raises
    ------
    InvalidInputError
        If there are none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from gpcommittee.data import open_table
    >>> require_rows(Path("train.csv"), open_table(pa.table({"x": []})), 0, "to fit")
    Traceback (most recent call last):
    ...
    gpcommittee.errors.InvalidInputError: 'train.csv' has no row to fit, only a header. Check that this is the file you
    mean, and that whatever writes it has finished; it needs at least one row.
    """
    if n_rows > 0:
        return
    n_table = source.count_rows()
    if n_table == 0:
        raise InvalidInputError(
            f"'{data}' has no row {purpose}, only a header. Check that this is the file you mean, and that whatever "
            "writes it has finished; it needs at least one row."
        )
    raise InvalidInputError(
        f"'{data}' has no complete row {purpose}: each of its {counted(n_table, 'row')} has a missing value. Fill the "
        "values in, or leave columns that are mostly empty out with --features."
    )
