from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpcommittee import CommitteeRegressor
from gpcommittee.errors import InvalidTypeError, ModelFileError
from gpcommittee.persistence import check_writable, read_metadata


def test_check_writable_accepts_a_new_and_an_old_file(tmp_path: Path) -> None:
    check_writable(tmp_path / "new.gpc")
    (tmp_path / "old.gpc").touch()
    check_writable(str(tmp_path / "old.gpc"))
    assert os.listdir(tmp_path) == ["old.gpc"]


def test_check_writable_names_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"there is no folder '.*nowhere'. Create it first"):
        check_writable(tmp_path / "nowhere" / "model.gpc")


def test_check_writable_refuses_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"it is a folder\. Add a file name"):
        check_writable(tmp_path)


def test_check_writable_names_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ModelFileError, match=r"no permission to create files in .* Choose another folder"):
        check_writable(tmp_path / "model.gpc")


@pytest.mark.parametrize("path", [None, 3, b"model.gpc", ["model.gpc"]])
@pytest.mark.parametrize("use", [check_writable, read_metadata, CommitteeRegressor.load])
def test_what_is_no_path_is_refused(use: Callable[[object], object], path: object) -> None:
    with pytest.raises(InvalidTypeError, match=f"path of a model file is text .* got {type(path).__name__}"):
        use(path)
