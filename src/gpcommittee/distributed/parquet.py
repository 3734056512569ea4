"""Parquet files as partitions: runs of row groups, which workers read themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcommittee.data import ColumnPlan, plan_columns
from gpcommittee.data.columns import check_columns
from gpcommittee.data.endings import PARQUET_ENDINGS, is_parquet
from gpcommittee.data.parquetfile import ParquetFile
from gpcommittee.distributed.blocks import Block
from gpcommittee.distributed.tables import TableReader
from gpcommittee.errors import DatasetNotFoundError, InvalidInputError

PART_ROWS = 250_000
"""Row groups are taken together up to so many rows: some ten megabytes, which take longer to read than to schedule."""

MOST_PARTS = 1024
"""With more rows than so many parts of PART_ROWS have, row groups are taken together up to larger parts."""


@dataclass(frozen=True)
class ParquetPart:
    """Consecutive row groups of one file."""

    path: str
    row_groups: tuple[int, ...]


@dataclass(frozen=True)
class ParquetReader(TableReader):
    """Reads the rows of a part of a file."""

    def __call__(self, part: ParquetPart, number: int) -> Block:
        """The rows; messages name the file."""
        if not Path(part.path).is_file():
            raise DatasetNotFoundError(
                f"A worker finds no file {part.path!r}. The files must be in a folder that all machines see by the "
                "same name."
            )
        return self.block(ParquetFile(Path(part.path), part.row_groups))


def parquet_parts(
    source: Any,
    target: str | None,
    *,
    features: Sequence[str] | None = None,
    expand_dates: bool | Sequence[str] = False,
    drop_missing: bool = False,
    plan: ColumnPlan | None = None,
) -> tuple[tuple[ParquetPart, ...], tuple[str, ...], ParquetReader, int, ColumnPlan]:
    """Parts of a folder or a list of files, their identities, and how to read them; reads the footers alone.

    Raises
    ------
    DatasetNotFoundError
        No such file or folder.
    InvalidInputError
        No Parquet files; columns that are missing in one of them or cannot be used; a damaged file.
    """
    paths = parquet_files(source)
    files = [ParquetFile(path) for path in paths]
    columns = plan_columns(files[0], target, features, expand_dates) if plan is None else plan
    for file in files:
        check_columns(file, columns, with_target=target is not None)
    part_rows = max(PART_ROWS, sum(file.count_rows() for file in files) // MOST_PARTS)
    parts = [
        ParquetPart(str(path), groups)
        for path, file in zip(paths, files, strict=True)
        for groups in _runs(file.group_rows, part_rows)
    ]
    identities = tuple(_identity(part) for part in parts)
    reader = ParquetReader(columns, target is not None, drop_missing)
    return tuple(parts), identities, reader, len(columns.feature_names), columns


def parquet_files(source: Any) -> list[Path]:
    """The files of a folder in the order of their names, or those of a list in its order.

    Raises
    ------
    DatasetNotFoundError
        No such file or folder.
    InvalidInputError
        A folder without Parquet files, or with some in folders inside it; a file with another ending.
    """
    if isinstance(source, (str, os.PathLike)):
        folder = Path(source).resolve()
        if not folder.is_dir():
            return parquet_files([source])
        names = sorted(path.relative_to(folder) for path in folder.rglob("*") if is_parquet(path))
        shown = [name for name in names if not any(part.startswith((".", "_")) for part in name.parts)]
        inner = [str(name) for name in shown if len(name.parts) > 1]
        if inner:
            raise InvalidInputError(
                f"Folder {str(source)!r} has Parquet files in folders inside it, such as {inner[0]!r}, which are not "
                "read. Name one folder, or all files in a list."
            )
        if not shown:
            raise InvalidInputError(f"Folder {str(source)!r} has no files ending in {', '.join(PARQUET_ENDINGS)}.")
        return [folder / name for name in shown]
    paths = [Path(path).resolve() for path in source]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise DatasetNotFoundError(f"No file {missing[0]!r}, of {len(paths)} named; {len(missing)} are missing.")
    others = [path.name for path in paths if not is_parquet(path)]
    if others:
        raise InvalidInputError(
            f"{others[0]!r} is no Parquet file by its name; rows on a cluster are read from files ending in "
            f"{', '.join(PARQUET_ENDINGS)}."
        )
    return paths


def _runs(group_rows: Sequence[int], part_rows: int) -> Iterator[tuple[int, ...]]:
    """Consecutive row groups of at most so many rows together, or a larger one alone."""
    run: list[int] = []
    for group, n_rows in enumerate(group_rows):
        if run and sum(group_rows[i] for i in run) + n_rows > part_rows:
            yield tuple(run)
            run = []
        run.append(group)
    if run:
        yield tuple(run)


def _identity(part: ParquetPart) -> str:
    state = os.stat(part.path)
    return f"{part.path}:{state.st_size}:{state.st_mtime_ns}:{part.row_groups[0]}-{part.row_groups[-1]}"
