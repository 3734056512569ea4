"""Memory of a prediction that chooses its experts to a tolerance.

As many pivots, landmarks and candidates are counted as there can be: how many there are depends on how smooth the data
are, which is known only afterwards. So is the time, of which nothing is said here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpcommittee.aggregation import Reference
from gpcommittee.planning.case import Case
from gpcommittee.prediction.chosen import LARGEST_LEAF, LARGEST_NODE, SAMPLES_SHARE, TOGETHER
from gpcommittee.prediction.landmarks import AT_ONCE, MOST
from gpcommittee.prediction.node import CHECKS, PIVOTS, POINTS_PER_PIVOT
from gpcommittee.prediction.predict import FEWEST_EXPERTS
from gpcommittee.prediction.selection import selectable

DOUBLE = 8

NODE_VALUES = 8
"""Numbers per test point of a node: its row and its sum, those of the most certain expert among it."""

BASIS_ARRAYS = 4
"""Arrays of points by pivots that are alive while a sample is taken, at most: the pivots' coordinates, those of fewer
pivots, and two more for what they leave or for their weights."""


@dataclass(frozen=True)
class ChoosingMemory:
    """Bytes besides those of the factors.

    Attributes
    ----------
    landmarks : float
        Of all experts, kept with the model.
    held : float
        Samples of nodes, or leaves, that wait for factors.
    worker : float
        Temporary arrays of one worker.
    per_point : float
        Of each test point, throughout.
    """

    landmarks: float
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
    known = _known(case)
    landmarks = min(MOST, float(case.sizes.max()))
    at_once = min(AT_ONCE, len(case.sizes) * landmarks)
    return ChoosingMemory(
        landmarks=DOUBLE * len(case.sizes) * landmarks * (case.n_features + known + landmarks),
        held=max(_held(case, LARGEST_NODE, _sample_values(case)), _held(case, LARGEST_LEAF, _leaf_values(case))),
        worker=DOUBLE * max(_sampling_values(case, live), _estimating_values(case, live, at_once)),
        per_point=DOUBLE * max(3.0 * case.n_features + NODE_VALUES, case.n_features + 2.0 * NODE_VALUES),
    )


def _held(case: Case, largest: int, values: float) -> float:
    """Bytes of all nodes of a size, or of as many as are held before their memory is counted."""
    n_bytes = DOUBLE * values
    n_nodes = -(-case.n_test // largest)
    return min(n_nodes * n_bytes, SAMPLES_SHARE * case.budget + TOGETHER * n_bytes)


def _sample_values(case: Case) -> float:
    """Numbers of the sample of a node that is not rough: weights, pivots and checks, what every expert says there."""
    points, pivots = _points(case, LARGEST_NODE), _smooth_pivots(case)
    seen = _known(case) + case.n_features + 2.0 * len(case.sizes)
    return points * (pivots + case.n_features + NODE_VALUES) + (pivots + CHECKS) * seen + pivots**2


def _leaf_values(case: Case) -> float:
    """Numbers of a leaf: estimated gains, where they are needed (a byte each), and the view of the points."""
    return _points(case, LARGEST_LEAF) * (1.125 * len(case.sizes) + _known(case) + case.n_features + NODE_VALUES)


def _sampling_values(case: Case, live: int) -> float:
    """Numbers that one worker holds while it takes a sample."""
    points, known = _points(case, LARGEST_NODE), _known(case)
    return points * max(live * known, known + BASIS_ARRAYS * _pivots(case))


def _estimating_values(case: Case, live: int, at_once: float) -> float:
    """Numbers that one worker holds while it estimates by landmarks, or while it evaluates, what experts know."""
    points, known = _points(case, LARGEST_LEAF), _known(case)
    of_landmarks = points * (known + live * at_once) + at_once * known
    return max(of_landmarks, points * (2 * known + live * float(case.sizes.max())))


def _points(case: Case, largest: int) -> float:
    return float(min(largest, case.n_test))


def _pivots(case: Case) -> float:
    return max(_points(case, LARGEST_NODE) / POINTS_PER_PIVOT, _smooth_pivots(case))


def _smooth_pivots(case: Case) -> float:
    """Pivots of a node that is not rough, at most."""
    return min(float(PIVOTS), 2 * _points(case, LARGEST_NODE) / POINTS_PER_PIVOT)


def _known(case: Case) -> float:
    """Communication rows to which test points and landmarks are coupled."""
    return float(case.sizes[0]) if case.rule.reference is Reference.COMMUNICATION else 0.0
