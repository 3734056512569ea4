"""The checks of settings that are one of a few names, or a number."""

from __future__ import annotations

import math
from numbers import Integral, Real

from gpcommittee.errors import InvalidParameterError


def check_choice(name: str, value: object, allowed: tuple[str | None, ...]) -> None:
    """Refuse a setting that is not among the allowed ones, whatever its type.

    Raises
    ------
    InvalidParameterError
        If it is not.
    """
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise InvalidParameterError(f"{name} must be one of {allowed}, got {value!r}.")


def check_count(name: str, value: object, least: int = 1, or_else: str = "") -> int:
    """A whole number of any integer type, as an int; booleans are none. The message begins with what else is allowed.

    Raises
    ------
    InvalidParameterError
        If it is another value, or below ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameterError(f"{name} must be {or_else}an integer of at least {least}, got {value!r}.")
    return int(value)


def check_count_or_name(name: str, value: object, allowed: tuple[str, ...]) -> int | str:
    """One of a few names, or a whole number of at least 1.

    Raises
    ------
    InvalidParameterError
        If it is neither.
    """
    if isinstance(value, str) and value in allowed:
        return value
    return check_count(name, value, or_else=f"{', '.join(map(repr, allowed))} or ")


def check_positive(name: str, value: object) -> float:
    """A finite number above 0.

    Raises
    ------
    InvalidParameterError
        If it is none.
    """
    return _above_zero(name, value, "")


def check_optional_positive(name: str, value: object) -> float | None:
    """None, or a finite number above 0.

    Raises
    ------
    InvalidParameterError
        If it is neither.
    """
    return None if value is None else _above_zero(name, value, " or None")


def _above_zero(name: str, value: object, or_else: str) -> float:
    number = _as_float(value)
    if not 0 < number < math.inf:
        raise InvalidParameterError(f"{name} must be a finite number above 0{or_else}, got {value!r}.")
    return number


def _as_float(value: object) -> float:
    """A real number as a float, NaN for anything else and infinity beyond the range of floats."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
