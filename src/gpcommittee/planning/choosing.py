"""Memory of a prediction that chooses its experts to a tolerance.

As many experts are counted as there can be, seen by every group of test points and evaluated somewhere in it: how many
there are depends on how smooth the data are, which is known only afterwards. So is the time, of which nothing is said
here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpcommittee.aggregation import Reference
from gpcommittee.planning.case import Case
from gpcommittee.prediction.predict import FEWEST_EXPERTS
from gpcommittee.prediction.selection import selectable
from gpcommittee.prediction.tolerance.chosen import GROUP, HELD_SHARE, TOGETHER
from gpcommittee.prediction.tolerance.compressing import MOST
from gpcommittee.prediction.tolerance.far_field import AT_ONCE

DOUBLE = 8

GROUP_VALUES = 24
"""Numbers per test point of a group that waits: its row, what the reference says, its sum and another to be merged."""

PAIR_BYTES = 60
"""Bytes of a point and an expert while a group looks: gain, shift and how far either may be off; changes, once more
joined and twice more to be ordered; masks."""


@dataclass(frozen=True)
class ChoosingMemory:
    """Bytes besides those of the factors.

    Attributes
    ----------
    far_field : float
        Of all experts, kept with the model.
    held : float
        Groups of test points that wait for factors.
    worker : float
        Temporary arrays of one worker.
    per_point : float
        Of each test point, throughout.
    """

    far_field: float
    held: float
    worker: float
    per_point: float


NOT_CHOOSING = ChoosingMemory(0.0, 0.0, 0.0, 0.0)


def chooses(case: Case) -> bool:
    """Whether a prediction chooses its experts; otherwise a tolerance makes no difference."""
    enough = len(case.sizes) >= FEWEST_EXPERTS and case.itemsize == DOUBLE
    return case.n_nearest is None and case.tolerance > 0 and case.n_test > 0 and enough and selectable(case.rule)


def choosing_memory(case: Case, live: int) -> ChoosingMemory:
    """Memory of a case that chooses.

    Parameters
    ----------
    case : Case
    live : int
        Covariances of points and rows that are alive at once, at most.
    """
    rows = min(MOST, float(case.sizes.max()))
    maps = rows * (rows + 1) * 5 / 4
    return ChoosingMemory(
        far_field=DOUBLE * len(case.sizes) * (rows * (case.n_features + _known(case)) + maps),
        held=_held(case),
        worker=max(_looking(case, live, rows), _evaluating(case, live)),
        per_point=DOUBLE * 3.0 * case.n_features,
    )


def _held(case: Case) -> float:
    """Bytes of all groups, or of as many as are held before their memory is counted; a byte for each expert."""
    of_point = DOUBLE * (_known(case) + case.n_features + GROUP_VALUES) + len(case.sizes)
    n_bytes = _points(case) * of_point
    return min(case.n_test * of_point, HELD_SHARE * case.budget + TOGETHER * n_bytes)


def _looking(case: Case, live: int, rows: float) -> float:
    """Bytes that one worker holds while a group of points looks."""
    at_once = min(AT_ONCE, len(case.sizes)) * rows
    of_rows = DOUBLE * at_once * (_known(case) + _points(case) * (live + 1))
    return of_rows + _points(case) * (DOUBLE * _known(case) + PAIR_BYTES * len(case.sizes))


def _evaluating(case: Case, live: int) -> float:
    """Bytes that one worker holds while it evaluates experts at a group of points."""
    return DOUBLE * _points(case) * (2 * _known(case) + live * float(case.sizes.max()))


def _points(case: Case) -> float:
    return float(min(GROUP, case.n_test))


def _known(case: Case) -> float:
    """Communication rows to which points and rows are coupled."""
    return float(case.sizes[0]) if case.rule.reference is Reference.COMMUNICATION else 0.0
