"""How many experts, and how many rows in the communication set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.choices import check_count
from gpcommittee.errors import InvalidParameterError
from gpcommittee.records import IntArray

EXPERT_SIZES = (500, 1000)
"""Fewest and most rows per expert by default. An expert's covariance matrix of 500 rows (2 MB) stays in cache, and the
paper uses 500 to 625. Not a power of two, whose rows would fall into the same cache sets: an evaluation of the
objective takes 1.4 times as long with 512."""

COMMUNICATION_SIZES = (500, 2000)
"""Fewest and most rows of the communication set by default."""

ROWS_TIMES_SIZE = 20_000_000
"""Rows times rows per expert, at which a prediction takes some ten milliseconds of one core: what the larger of the
sizes may cost. The communication set may have twice the rows of an expert."""

COMMUNICATION_SHARE = 5
"""One row in so many may be in the communication set."""


@dataclass(frozen=True)
class PartitionSizes:
    """The two numbers that every partition needs.

    Attributes
    ----------
    n_experts : int
        Number of experts, the communication expert included.
    communication_size : int
        Rows in the communication set; all rows if there is one expert.
    """

    n_experts: int
    communication_size: int

    def __post_init__(self) -> None:
        check_count("n_experts", self.n_experts)
        check_count("communication_size", self.communication_size)


def resolve_sizes(
    n_rows: int,
    n_experts: int | None = None,
    expert_size: int | None = None,
    communication_size: int | None = None,
) -> PartitionSizes:
    """Turn what the user asked for into a number of experts and a communication size.

    Without any of the three they follow from the number of rows: larger experts and a larger communication set are more
    accurate, and few rows can afford them. With `n_experts` or `expert_size` alone, the communication set is as large
    as the other experts: all sizes of a balanced partition differ by at most one.

    Parameters
    ----------
    n_rows : int
        Training rows.
    n_experts : int, optional
        Number of experts, the communication expert included.
    expert_size : int, optional
        Most rows in an expert of a balanced partition; give this or `n_experts`, not both.
    communication_size : int, optional
        Rows in the communication set. The remaining rows go to the other experts.

    Returns
    -------
    PartitionSizes

    Raises
    ------
    InvalidParameterError
        If a value is not an integer of at least 1, if both `n_experts` and `expert_size` are given, if there are more
        experts than rows, or if the communication set leaves too few rows for the other experts.

    Examples
    --------
    >>> resolve_sizes(10_000)
    PartitionSizes(n_experts=9, communication_size=2000)
    >>> resolve_sizes(10_000, n_experts=16)
    PartitionSizes(n_experts=16, communication_size=625)
    >>> resolve_sizes(10_000, expert_size=500, communication_size=1_000)
    PartitionSizes(n_experts=19, communication_size=1000)
    """
    rows = check_count("n_rows", n_rows)
    if n_experts is not None and expert_size is not None:
        raise InvalidParameterError(
            f"n_experts={n_experts!r} and expert_size={expert_size!r} were both given; each determines the other. "
            "Set one of them and leave the other at None."
        )
    communication = None if communication_size is None else check_count("communication_size", communication_size)
    if communication is not None and communication > rows:
        raise InvalidParameterError(
            f"communication_size={communication} exceeds the {rows} rows; choose a value from 1 to {rows}."
        )
    if n_experts is None and expert_size is None and communication is None and rows > EXPERT_SIZES[1]:
        communication = default_communication_size(rows)
    if n_experts is None:
        size = default_expert_size(rows) if expert_size is None else check_count("expert_size", expert_size)
        experts = _experts_of_size(rows, size, communication)
    else:
        experts = check_count("n_experts", n_experts)
    if experts > rows:
        raise InvalidParameterError(
            f"n_experts={experts} exceeds the {rows} rows; every expert needs a row. Choose a value from 1 to {rows}."
        )
    sizes = PartitionSizes(experts, rows // experts if communication is None else communication)
    check_fit(sizes, rows)
    return sizes


def default_expert_size(n_rows: int) -> int:
    """Rows per expert that as many rows can afford."""
    return _within(EXPERT_SIZES, ROWS_TIMES_SIZE // n_rows)


def default_communication_size(n_rows: int) -> int:
    """Rows in the communication set that as many rows can afford."""
    return min(_within(COMMUNICATION_SIZES, 2 * ROWS_TIMES_SIZE // n_rows), n_rows // COMMUNICATION_SHARE)


def _within(limits: tuple[int, int], size: int) -> int:
    return min(max(size, limits[0]), limits[1])


def check_fit(sizes: PartitionSizes, n_rows: int) -> None:
    """Raise InvalidParameterError unless `n_rows` rows can be divided as `sizes` says, every expert non-empty."""
    rest, others = n_rows - sizes.communication_size, sizes.n_experts - 1
    if others == 0 and rest != 0:
        raise InvalidParameterError(
            f"communication_size={sizes.communication_size} does not fit one expert, which is the communication "
            f"expert and holds all {n_rows} rows. Leave communication_size at None, or set n_experts to 2 or more."
        )
    if rest < others:
        raise InvalidParameterError(
            f"communication_size={sizes.communication_size} leaves {max(rest, 0)} of {n_rows} rows to the other "
            f"{others} experts, and each needs a row. Choose communication_size at most {n_rows - others}, or fewer "
            "experts."
        )


def balanced_offsets(n_rows: int, n_parts: int) -> IntArray:
    """Offsets, shape (n_parts + 1,), that divide `n_rows` into parts whose sizes differ by at most one."""
    return np.arange(n_parts + 1, dtype=np.int64) * n_rows // max(n_parts, 1)


def _experts_of_size(n_rows: int, size: int, communication_size: int | None) -> int:
    if communication_size is None:
        return _ceil_divide(n_rows, size)
    return 1 + _ceil_divide(n_rows - communication_size, size)


def _ceil_divide(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
