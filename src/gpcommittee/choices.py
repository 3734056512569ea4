"""The check of a setting that is one of a few names."""

from __future__ import annotations

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
