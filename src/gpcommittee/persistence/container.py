"""The model file: arrays and settings in one safetensors file that is checked as a whole and never unpickled.

The file's metadata has one entry, ``gpcommittee``: canonical JSON with the caller's manifest, the format's name and
schema version, the versions of the libraries that wrote it, and a BLAKE2b digest of all of these and of every array's
name, type, shape and bytes. Nothing depends on the time or the machine, so the same model gives the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gpcommittee.errors import InvalidParameterError, InvalidTypeError, ModelFileError
from gpcommittee.files import replacing, why_not_writable
from gpcommittee.persistence.jsonable import canonical_json, parse_canonical_json

FORMAT = "gpcommittee-model"
SCHEMA_VERSION = 1
METADATA_KEY = "gpcommittee"
LIBRARIES = ("gpcommittee", "gpytorch", "numpy", "scikit-learn", "torch")
RESERVED_KEYS = frozenset({"digest", "format", "libraries", "schema_version"})
MAX_MANIFEST_CHARACTERS = 40_000_000
"""Quotes double when the manifest is put into the header, and safetensors reads headers of up to 100 MB."""

ARRAY_TYPES = frozenset(
    {"bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)

Array = NDArray[Any]


def write_model_file(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
) -> None:
    """Write arrays and settings to one file, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        A file that is there already is replaced once the new one is complete.
    arrays : mapping of str to ndarray
        Booleans, integers or floats of any shape. They are stored in C order and little-endian.
    manifest : mapping
        Settings that JSON can hold; see ``to_jsonable``. Finite floats survive bit for bit; tuples become lists.

    Raises
    ------
    InvalidParameterError
        If an array has another type, or the manifest holds something that JSON cannot, is too long or uses a
        reserved key.
    ModelFileError
        If the file cannot be written. A file that was there before is unchanged.
    InvalidTypeError
        If the path is none.
    """
    check_writable(path)
    stored = {_checked_name(name): _storable(name, array) for name, array in arrays.items()}
    metadata = {METADATA_KEY: _signed(stored, _labelled(manifest))}
    try:
        with replacing(path) as temporary:
            save_file(stored, temporary, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f"Cannot write the model file '{path}': {error}. A file that was there before is unchanged. "
            "Check the free space and the permissions of its folder, or choose another one."
        ) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Say before long work starts that a model file could not be written afterwards.

    Parameters
    ----------
    path : str or path-like
        Where the model file is to be. A file that is there already may be replaced.

    Raises
    ------
    ModelFileError
        If the folder does not exist or cannot be written, or the path is a folder itself.
    InvalidTypeError
        If the path is none.
    """
    _check_path(path)
    if problem := why_not_writable(path):
        raise ModelFileError(f"Cannot write the model file '{path}': {problem}")


def read_model_file(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what ``write_model_file`` wrote, after checking all of it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    arrays : dict of str to ndarray
        Writable copies.
    manifest : dict
        The manifest with ``format``, ``schema_version`` and ``libraries`` added.

    Raises
    ------
    ModelFileError
        If the file does not exist, cannot be read, is no model file, has an unknown schema version, or differs in any
        bit from what was written.
    InvalidTypeError
        If the path is none.
    """
    size = _readable_size(path)
    try:
        with safe_open(path, framework="np") as file:
            manifest = _parsed(path, file.metadata())
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise ModelFileError(f"Cannot read the model file '{path}': {error}. Check its permissions.") from error
    except (SafetensorError, AttributeError, KeyError, TypeError) as error:
        raise ModelFileError(_diagnosis(path, size)) from error
    if manifest.pop("digest", None) != _digest(arrays, manifest):
        raise _corrupted(path, "its content does not match its digest")
    return arrays, manifest


def _checked_name(name: str) -> str:
    encodable = name.encode("utf-8", "ignore").decode() == name
    if name in {"", "__metadata__"} or not encodable:
        raise InvalidParameterError(f"{name!r} cannot name an array in a model file; use any other non-empty text.")
    return name


def _storable(name: str, array: Array) -> Array:
    if array.dtype.name not in ARRAY_TYPES:
        raise InvalidParameterError(
            f"Array {name!r} has type {array.dtype}, which a model file cannot hold. Allowed are {sorted(ARRAY_TYPES)}."
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _labelled(manifest: Mapping[str, Any]) -> dict[str, Any]:
    if taken := sorted(RESERVED_KEYS & manifest.keys()):
        raise InvalidParameterError(f"The manifest uses the reserved keys {taken}; rename them.")
    return {**manifest, "format": FORMAT, "schema_version": SCHEMA_VERSION, "libraries": _library_versions()}


def _library_versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES}


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _signed(arrays: Mapping[str, Array], manifest: dict[str, Any]) -> str:
    text = canonical_json({**manifest, "digest": _digest(arrays, manifest)})
    if len(text) > MAX_MANIFEST_CHARACTERS:
        raise InvalidParameterError(
            f"The manifest has {len(text):,} characters; at most {MAX_MANIFEST_CHARACTERS:,} fit a model file. "
            "Move long lists of numbers into the arrays."
        )
    return text


def _digest(arrays: Mapping[str, Array], manifest: Mapping[str, Any]) -> str:
    """BLAKE2b over the manifest, then each array's name, type, shape and bytes; every text preceded by its length."""
    digest = hashlib.blake2b(digest_size=32)
    _update(digest, canonical_json(manifest))
    for name in sorted(arrays):
        array = arrays[name]
        _update(digest, canonical_json([name, array.dtype.name, array.shape]))
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _update(digest: hashlib.blake2b, text: str) -> None:
    digest.update(len(text).to_bytes(8, "little"))
    digest.update(text.encode("ascii"))


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise InvalidTypeError(f"The path of a model file is text or a pathlib.Path, got {type(path).__name__}.")


def _readable_size(path: str | os.PathLike[str]) -> int:
    _check_path(path)
    if not os.path.exists(path):
        raise ModelFileError(f"There is no model file '{path}'. Check the path; save(path) writes one.")
    if not os.path.isfile(path):
        raise ModelFileError(f"'{path}' is not a file. Give the path of a model file that save(path) wrote.")
    return os.path.getsize(path)


def _parsed(path: str | os.PathLike[str], metadata: dict[str, str] | None) -> dict[str, Any]:
    """The manifest, known to be of this format and version."""
    if metadata is None or metadata.keys() != {METADATA_KEY}:
        raise ModelFileError(
            f"'{path}' is a safetensors file, but not a gpcommittee model file: its metadata has no (or not only) the "
            f"entry '{METADATA_KEY}'. Give the path of a file that save(path) wrote."
        )
    try:
        manifest = parse_canonical_json(metadata[METADATA_KEY])
    except ValueError as error:
        raise _corrupted(path, f"its manifest is {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _corrupted(path, f"its manifest does not name the format '{FORMAT}'")
    _check_schema_version(path, manifest)
    return manifest


def _check_schema_version(path: str | os.PathLike[str], manifest: dict[str, Any]) -> None:
    found = manifest.get("schema_version")
    if type(found) is int and found == SCHEMA_VERSION:
        return
    libraries = manifest.get("libraries")
    writer = libraries.get("gpcommittee", "unknown") if isinstance(libraries, dict) else "unknown"
    raise ModelFileError(
        f"The model file '{path}' has schema version {found!r}; this gpcommittee ({_version('gpcommittee')}) reads "
        f"version {SCHEMA_VERSION} only. The file was written by gpcommittee {writer}: load it with that version, or "
        "fit and save the model again."
    )


def _corrupted(path: str | os.PathLike[str], reason: str) -> ModelFileError:
    return ModelFileError(
        f"The model file '{path}' is corrupted: {reason}. Copy it again from where it was saved, or fit and save the "
        "model again."
    )


def _diagnosis(path: str | os.PathLike[str], size: int) -> str:
    """Why safetensors could not read a file."""
    with Path(path).open("rb") as file:
        head = file.read(9)
    if head[:1] == b"\x80" or head[:2] == b"PK":
        return (
            f"'{path}' is not a gpcommittee model file: it looks like a pickle or a zip archive. Model files are never "
            "unpickled; if you trust the file, read it with the library that wrote it."
        )
    if size == 0:
        return str(_corrupted(path, "it is empty (0 bytes)"))
    if size < 9 or head[8:] == b"{":
        return str(_corrupted(path, f"it is truncated or damaged (it has {size:,} bytes)"))
    return f"'{path}' is not a gpcommittee model file. Give the path of a file that save(path) wrote."
