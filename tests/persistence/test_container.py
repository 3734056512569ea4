from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gpcommittee.errors import InvalidParameterError, ModelFileError
from gpcommittee.persistence import container
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.persistence.jsonable import canonical_json

Arrays = dict[str, NDArray[Any]]
ADDED = {"format", "schema_version", "libraries"}
MANIFEST = {
    "kernel": "matern32",
    "columns": ["größe", "温度", "x\u0000", "🙂"],
    "noise": 0.1,
    "nested": {"a": [None, True]},
}


def some_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    return {
        "X": rng.standard_normal((7, 3)),
        "single": rng.standard_normal(5).astype(np.float32),
        "order": np.arange(7, dtype=np.int64),
        "mask": np.array([True, False, True]),
        "scale": np.array(2.5),
        "empty": np.empty((0, 3)),
        "größe": np.array([-0.0, np.inf, -np.inf, np.nan, 5e-324]),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gpc"


@pytest.fixture
def written(path: Path) -> Path:
    write_model_file(path, some_arrays(), MANIFEST)
    return path


def small_file(path: Path) -> bytes:
    write_model_file(path, {"w": np.array([1.5, -2.0]), "b": np.array([True])}, {"noise": 0.1, "name": "é"})
    return path.read_bytes()


def assert_same_arrays(found: Arrays, expected: Arrays) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.astype(found[name].dtype).tobytes()


def rewrite_metadata(path: Path, change: Callable[[dict[str, Any]], None], *, sign: bool) -> None:
    """Change the manifest in place, with a digest that fits if ``sign``."""
    with safe_open(path, framework="np") as file:
        manifest = json.loads(file.metadata()["gpcommittee"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    digest = manifest.pop("digest")
    change(manifest)
    manifest["digest"] = container._digest(arrays, manifest) if sign else digest
    save_file(arrays, path, metadata={"gpcommittee": canonical_json(manifest)})


def test_round_trip(written: Path) -> None:
    arrays, manifest = read_model_file(written)
    assert_same_arrays(arrays, some_arrays())
    assert {key: value for key, value in manifest.items() if key not in ADDED} == MANIFEST


def test_arrays_read_are_writable(written: Path) -> None:
    arrays, _ = read_model_file(written)
    assert all(array.flags.writeable for array in arrays.values())


def test_the_format_its_version_and_the_libraries_are_recorded(written: Path) -> None:
    _, manifest = read_model_file(written)
    assert manifest["format"] == "gpcommittee-model"
    assert manifest["schema_version"] == 1
    assert manifest["libraries"].keys() == {"gpcommittee", "gpytorch", "numpy", "python", "scikit-learn", "torch"}
    assert manifest["libraries"]["numpy"] == np.__version__


def test_a_library_that_is_not_installed_is_unknown() -> None:
    assert container._version("no-library-has-this-name") == "unknown"


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    write_model_file(tmp_path / "a", some_arrays(), MANIFEST)
    reversed_arrays = dict(reversed(some_arrays().items()))
    write_model_file(tmp_path / "b", reversed_arrays, dict(reversed(MANIFEST.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_other_libraries_can_read_the_arrays(written: Path) -> None:
    with safe_open(written, framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("X"), some_arrays()["X"])


def test_arguments_are_not_changed(path: Path) -> None:
    arrays, manifest = some_arrays(), dict(MANIFEST)
    write_model_file(path, arrays, manifest)
    assert_same_arrays(arrays, some_arrays())
    assert manifest == MANIFEST


def test_any_memory_layout_is_stored_by_value(path: Path) -> None:
    base = np.arange(24.0).reshape(4, 6)
    layouts: Arrays = {
        "transposed": base.T,
        "fortran": np.asfortranarray(base),
        "strided": base[::2, ::-3],
        "big_endian": base.astype(">f8"),
        "broadcast": np.broadcast_to(np.int64(4), (2, 3)),
    }
    write_model_file(path, layouts, {})
    assert_same_arrays(read_model_file(path)[0], layouts)


def test_no_arrays_and_no_settings(path: Path) -> None:
    write_model_file(path, {}, {})
    arrays, manifest = read_model_file(path)
    assert arrays == {}
    assert manifest.keys() == ADDED


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    array=hnp.arrays(
        st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    manifest=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.integers()),
)
def test_any_array_and_setting_survives(path: Path, array: NDArray[Any], name: str, manifest: dict[str, Any]) -> None:
    manifest = {f"user {key}": value for key, value in manifest.items()}
    write_model_file(path, {name: array}, manifest)
    arrays, read = read_model_file(path)
    assert_same_arrays(arrays, {name: array})
    assert {key: value for key, value in read.items() if key not in ADDED} == manifest


def test_every_flipped_bit_is_found(path: Path) -> None:
    raw = small_file(path)
    for position in range(8 * len(raw)):
        damaged = bytearray(raw)
        damaged[position // 8] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            read_model_file(path)


def test_every_truncation_is_found(path: Path) -> None:
    raw = small_file(path)
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(ModelFileError, match=r"corrupted: it is (truncated|empty)"):
            read_model_file(path)


def test_bytes_added_at_the_end_are_found(path: Path) -> None:
    path.write_bytes(small_file(path) + b"\0")
    with pytest.raises(ModelFileError, match="truncated or damaged"):
        read_model_file(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_never_a_model(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    with pytest.raises(ModelFileError):
        read_model_file(path)


def test_a_missing_file(path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"There is no model file '.*model.gpc'"):
        read_model_file(path)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not a file"):
        read_model_file(tmp_path)


def test_an_empty_file(path: Path) -> None:
    path.touch()
    with pytest.raises(ModelFileError, match=r"corrupted: it is empty \(0 bytes\). Copy it again"):
        read_model_file(path)


def test_a_pickle_is_named_and_never_opened(path: Path) -> None:
    path.write_bytes(pickle.dumps(Exploding()))
    with pytest.raises(ModelFileError, match=r"looks like a pickle .* never unpickled"):
        read_model_file(path)


class Exploding:
    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("unpickled",)


def test_another_kind_of_file(path: Path) -> None:
    path.write_text("x1,x2,y\n1,2,3\n")
    with pytest.raises(ModelFileError, match=r"is not a gpcommittee model file. Give the path"):
        read_model_file(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"gpcommittee": "{}", "other": ""}])
def test_a_safetensors_file_of_another_origin(path: Path, metadata: dict[str, str] | None) -> None:
    save_file({"w": np.zeros(2)}, path, metadata=metadata)
    with pytest.raises(ModelFileError, match="safetensors file, but not a gpcommittee model file"):
        read_model_file(path)


@pytest.mark.parametrize("text", ["", "{", "not json", '{"format": "gpcommittee-model"}', "[" * 10_000])
def test_a_manifest_that_cannot_be_parsed(path: Path, text: str) -> None:
    save_file({"w": np.zeros(2)}, path, metadata={"gpcommittee": text})
    with pytest.raises(ModelFileError, match="corrupted: its manifest is"):
        read_model_file(path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format":"other"}'])
def test_a_manifest_of_another_format(path: Path, text: str) -> None:
    save_file({"w": np.zeros(2)}, path, metadata={"gpcommittee": text})
    with pytest.raises(ModelFileError, match="does not name the format 'gpcommittee-model'"):
        read_model_file(path)


@pytest.mark.parametrize("version", [2, 0, "1", 1.0, True, None])
def test_another_schema_version_is_refused_even_if_signed(written: Path, version: object) -> None:
    rewrite_metadata(written, lambda manifest: manifest.update(schema_version=version), sign=True)
    with pytest.raises(ModelFileError, match=rf"schema version {version!r}; this gpcommittee .* reads version 1 only"):
        read_model_file(written)


def test_the_message_about_a_newer_file_names_its_writer(written: Path) -> None:
    def from_the_future(manifest: dict[str, Any]) -> None:
        manifest["schema_version"] = 3
        manifest["libraries"]["gpcommittee"] = "9.1.0"

    rewrite_metadata(written, from_the_future, sign=True)
    with pytest.raises(ModelFileError, match=r"written by gpcommittee 9\.1\.0: load it with that version"):
        read_model_file(written)


def test_libraries_may_be_missing_from_a_foreign_version(written: Path) -> None:
    def stripped(manifest: dict[str, Any]) -> None:
        del manifest["libraries"]
        manifest["schema_version"] = 3

    rewrite_metadata(written, stripped, sign=True)
    with pytest.raises(ModelFileError, match="written by gpcommittee unknown"):
        read_model_file(written)


def test_a_changed_setting_does_not_match_the_digest(written: Path) -> None:
    rewrite_metadata(written, lambda manifest: manifest.update(noise=0.2), sign=False)
    with pytest.raises(ModelFileError, match="its content does not match its digest"):
        read_model_file(written)


def test_a_missing_digest_is_refused(path: Path) -> None:
    text = canonical_json({"format": "gpcommittee-model", "schema_version": 1})
    save_file({"w": np.zeros(2)}, path, metadata={"gpcommittee": text})
    with pytest.raises(ModelFileError, match="digest"):
        read_model_file(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.update(X=arrays["X"].reshape(3, 7)),
        lambda arrays: arrays.update(X=arrays["X"].view(np.int64)),
        lambda arrays: arrays.update(Y=arrays.pop("X")),
        lambda arrays: arrays.pop("empty"),
        lambda arrays: arrays.update(extra=np.empty(0)),
    ],
    ids=["reshaped", "retyped", "renamed", "removed", "added"],
)
def test_changed_arrays_do_not_match_the_digest(written: Path, change: Callable[[Arrays], None]) -> None:
    with safe_open(written, framework="np") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(arrays)
    save_file(arrays, written, metadata=metadata)
    with pytest.raises(ModelFileError, match="its content does not match its digest"):
        read_model_file(written)


def test_a_tensor_type_that_numpy_does_not_know(path: Path) -> None:
    header = {
        "__metadata__": {"gpcommittee": canonical_json({"format": "gpcommittee-model", "schema_version": 1})},
        "w": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]},
    }
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0")
    with pytest.raises(ModelFileError):
        read_model_file(path)


def test_a_file_without_read_permission(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(container, "safe_open", denied)
    with pytest.raises(ModelFileError, match=r"Cannot read the model file .* Permission denied"):
        read_model_file(written)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.zeros(1, complex), np.zeros(1, "M8[s]")])
def test_arrays_of_other_types_are_refused(path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"Array 'w' has type .*, which a model file cannot hold"):
        write_model_file(path, {"w": array}, {})
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "__metadata__", "\udce9"])
def test_array_names_the_format_cannot_hold(path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="cannot name an array"):
        write_model_file(path, {name: np.zeros(1)}, {})


@pytest.mark.parametrize("key", sorted(container.RESERVED_KEYS))
def test_reserved_keys_are_refused(path: Path, key: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"reserved keys \['{key}'\]; rename them"):
        write_model_file(path, {}, {key: 1})


def test_settings_that_are_not_finite_are_refused_before_anything_is_written(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(InvalidParameterError, match=r"manifest\.noise is nan"):
        write_model_file(written, {}, {"noise": float("nan")})
    assert written.read_bytes() == before


def test_a_manifest_too_long_to_be_read_back_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_MANIFEST_CHARACTERS", 1000)
    with pytest.raises(InvalidParameterError, match="Move long lists of numbers into the arrays"):
        write_model_file(path, {}, {"path": "x" * 1000})


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_a_killed_write_leaves_the_old_file(
    written: Path, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def half_written(arrays: Arrays, filename: Path, metadata: dict[str, str]) -> None:
        filename.write_bytes(b"half")
        raise failure

    before = written.read_bytes()
    monkeypatch.setattr(container, "save_file", half_written)
    with pytest.raises(failure):
        write_model_file(written, {}, {})
    assert written.read_bytes() == before
    assert os.listdir(written.parent) == [written.name]


@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left on device"), SafetensorError("No space left on device")]
)
def test_a_full_disk_is_reported_and_leaves_the_old_file(
    written: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def full(*_: object, **__: object) -> None:
        raise failure

    before = written.read_bytes()
    monkeypatch.setattr(container, "save_file", full)
    with pytest.raises(ModelFileError, match=r"No space left on device.*\. A file that was there before is unchanged"):
        write_model_file(written, {}, {})
    assert written.read_bytes() == before
    assert os.listdir(written.parent) == [written.name]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ModelFileError, match="no permission to create files"):
            write_model_file(tmp_path / "model.gpc", {}, {})
    finally:
        tmp_path.chmod(0o700)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no folder"):
        write_model_file(tmp_path / "nowhere" / "model.gpc", {}, {})


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX here")
def test_a_model_file_has_ordinary_permissions(written: Path) -> None:
    (written.parent / "other").touch()
    assert written.stat().st_mode == (written.parent / "other").stat().st_mode
