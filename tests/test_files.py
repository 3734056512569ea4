from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpcommittee import files
from gpcommittee.files import replacing


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "model.gpc"
    with replacing(target) as temporary:
        temporary.write_bytes(b"new")
        assert not target.exists()
        assert temporary.parent == tmp_path
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["model.gpc"]


def fail_half_way(target: Path, failure: type[BaseException]) -> None:
    with replacing(target) as temporary:
        temporary.write_bytes(b"half")
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path: Path, failure: type[BaseException]) -> None:
    target = tmp_path / "model.gpc"
    target.write_bytes(b"old")
    with pytest.raises(failure):
        fail_half_way(target, failure)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.gpc"]


def test_an_interrupt_while_flushing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    target = tmp_path / "model.gpc"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(target) as temporary:
        temporary.write_bytes(b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.gpc"]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX here")
def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "model.gpc"
    target.write_bytes(b"old")
    code = (
        f"import importlib.util, os, signal\n"
        f"spec = importlib.util.spec_from_file_location('files', {files.__file__!r})\n"
        f"module = importlib.util.module_from_spec(spec)\n"
        f"spec.loader.exec_module(module)\n"
        f"with module.replacing({str(target)!r}) as temporary:\n"
        f"    temporary.write_bytes(b'half')\n"
        f"    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, env={**os.environ, **paths()}
    )
    assert ended.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


def paths() -> dict[str, str]:
    """An import path for a new process that has not installed the package."""
    return {"PYTHONPATH": os.pathsep.join([str(Path(files.__file__).parents[1]), *filter(None, sys.path)])}


@pytest.mark.skipif(os.name != "posix", reason="permission bits and symbolic links are POSIX here")
def test_permissions_follow_the_umask_even_if_the_block_replaces_the_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "model.gpc") as temporary:
            temporary.unlink()
            temporary.touch(0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.gpc").stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="permission bits and symbolic links are POSIX here")
def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "a.gpc", tmp_path / "latest.gpc"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with replacing(link) as temporary:
        temporary.write_bytes(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_long_file_names_are_fine(tmp_path: Path) -> None:
    target = tmp_path / ("m" * 255)
    with replacing(target) as temporary:
        temporary.write_bytes(b"new")
    assert target.read_bytes() == b"new"
