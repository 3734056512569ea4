"""What commands say on standard output, and which files they must not touch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from gpcommittee.errors import InvalidParameterError

GIBIBYTE, MEBIBYTE = 2.0**30, 2.0**20


def say(text: str, *, quiet: bool) -> None:
    """A line on standard output, unless quiet."""
    if not quiet:
        typer.echo(text)


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values in two columns.

    Examples
    --------
    >>> print(aligned([("rows", "100"), ("experts", "4")]))
      rows     100
      experts  4
    """
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)


def counted(n: int, unit: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {unit}" if n == 1 else f"{n:,} {unit}s"


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> duration(0.4), duration(75), duration(5000)
    ('0.4 s', '1 min 15 s', '1 h 23 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def refuse_same_file(option: str, out: Path, others: Mapping[str, Path | None]) -> None:
    """Refuse to write to a file that the same command reads.

    Parameters
    ----------
    option : str
        What names the file to write, for the message.
    out : pathlib.Path
    others : mapping of str to pathlib.Path or None
        The other files by what names them.

    Raises
    ------
    InvalidParameterError
        If two names are of one file.
    """
    for name, other in others.items():
        if other is not None and _same(out, other):
            raise InvalidParameterError(
                f"{option} and {name} are the same file, '{other}'. Give {option} another name."
            )


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return os.path.samefile(one, other)
    return one.resolve() == other.resolve()


def size(n_bytes: float) -> str:
    """Bytes as people say them.

    >>> size(2e6), size(2.5e9)
    ('1.91 MiB', '2.33 GiB')
    """
    return f"{n_bytes / GIBIBYTE:.3g} GiB" if n_bytes > 0.1 * GIBIBYTE else f"{n_bytes / MEBIBYTE:.3g} MiB"
