"""Settings as JSON that loses nothing: floats by their shortest exact form, no NaN, no silent conversions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpcommittee.errors import InvalidParameterError


def to_jsonable(value: object, where: str = "manifest") -> Any:
    """The value with NumPy scalars as Python numbers, tuples as lists and mappings as dictionaries.

    Parameters
    ----------
    value : object
        Any nesting of mappings with string keys, lists, tuples, strings, numbers, booleans and None.
    where : str
        Name of the value for error messages.

    Returns
    -------
    dict, list, str, int, float, bool or None

    Raises
    ------
    InvalidParameterError
        If a number is NaN or infinite, a key is no string, or a value has a type JSON does not know.

    Examples
    --------
    >>> import numpy as np
    >>> to_jsonable({"n_experts": np.int64(16), "columns": ("x1", "x2")})
    {'n_experts': 16, 'columns': ['x1', 'x2']}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _finite(value, where)
    if isinstance(value, list | tuple):
        return [to_jsonable(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {_text(key, where): to_jsonable(item, f"{where}.{key}") for key, item in value.items()}
    raise InvalidParameterError(
        f"{where} is a {type(value).__name__}, which a model file cannot hold as a setting. Allowed are None, "
        "booleans, numbers, strings, lists, tuples and mappings with string keys; store an array among the arrays."
    )


def canonical_json(value: object) -> str:
    """One text per value: keys sorted, no white space, ASCII only.

    Raises
    ------
    InvalidParameterError
        As ``to_jsonable``.

    Examples
    --------
    >>> canonical_json({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return _dump(to_jsonable(value))


def parse_canonical_json(text: str) -> Any:
    """The value of a text that ``canonical_json`` wrote.

    Raises
    ------
    ValueError
        If the text is not JSON, or not in the one form ``canonical_json`` writes.
    """
    try:
        value = json.loads(text)
        unchanged = _dump(value) == text
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not unchanged:
        raise ValueError("not in canonical form")
    return value


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise InvalidParameterError(f"{where} is {value}; a model file holds finite settings only.")
    return value


def _text(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidParameterError(f"{where} has the key {key!r} of type {type(key).__name__}; keys must be strings.")
    return key
