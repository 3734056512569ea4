"""Without Dask the room can be imported, and says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpcommittee.distributed import open_rows
from gpcommittee.errors import MissingDependencyError

WITHOUT_DASK = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
import gpcommittee.distributed, gpcommittee.planning, gpcommittee.cli
assert not [name for name in sys.modules if name.startswith(("dask.", "distributed."))]
"""


def test_the_install_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "gpcommittee\[dask\]"'):
        open_rows("folder", "y")


def test_nothing_is_imported_before_it_is_needed() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_DASK], check=True)
