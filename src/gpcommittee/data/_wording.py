"""Lists in messages."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

_MOST = 10


def listing(items: Sequence[str]) -> str:
    """The first items, comma-separated, and how many more there are."""
    more = f" and {len(items) - _MOST} more" if len(items) > _MOST else ""
    return ", ".join(items[:_MOST]) + more


def quoted(names: Sequence[str]) -> str:
    """Names in quotes, so that stray spaces show."""
    return listing([repr(name) for name in names])


def suggestion(missing: Sequence[str], available: Sequence[str]) -> str:
    """A hint at the column that was probably meant, or nothing."""
    close = [match for name in missing for match in get_close_matches(name, available, n=1)]
    return f" Did you mean {quoted(close)}?" if close else ""
