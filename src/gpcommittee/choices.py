"""The checks of a setting that is one of a few names, or a whole number."""

from __future__ import annotations

from numbers import Integral

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
