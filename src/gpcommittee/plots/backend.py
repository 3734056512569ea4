"""The way to matplotlib."""

from __future__ import annotations

from importlib.util import find_spec

from gpcommittee.errors import MissingDependencyError


def require_matplotlib() -> None:
    """Say before long work starts that no picture could be drawn afterwards.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "The picture needs matplotlib, which is not installed. Install it with: pip install 'gpcommittee[plots]'"
        )
