"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY = ".gpcommittee-*.tmp"
"""Pattern of the names of temporary files; a process that is killed leaves them behind."""


def why_not_writable(path: str | os.PathLike[str]) -> str | None:
    """What would keep a file from being written, and what to do; None if nothing would."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        return f"there is no folder '{folder}'. Create it first."
    if Path(path).is_dir():
        return "it is a folder. Add a file name."
    if Path(path).exists() and not Path(path).is_file():
        return "it is a device or a pipe, not a file. Choose another name."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"no permission to create files in '{folder}'. Choose another folder or change its permissions."
    return None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file in the same folder that takes the place of ``path`` when the block succeeds.

    Whatever ends the block early, an interrupt included, removes the temporary file and leaves ``path`` as it was. A
    symbolic link stays a link; the file it points to is replaced.

    Yields
    ------
    pathlib.Path
        The temporary file, empty. The block may write to it or put another file in its place.
    """
    target = Path(path).resolve()
    temporary = target.with_name(TEMPORARY.replace("*", secrets.token_hex(8)))
    try:
        mode = _create(temporary)
        yield temporary
        temporary.chmod(mode)
        _flush(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _create(path: Path) -> int:
    """Create an empty file and return the permissions that the user's umask gave it."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the new name durable, where the file system lets a folder be flushed."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
