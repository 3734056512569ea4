"""Work and memory of neighbourhood experts: a factor for every leaf that is asked, two or so of them at each point.

A factor of r rows takes r^3/3 operations, r^2 kernel evaluations, and 2/3 p^3 for the residuals of the p rows in its
middle; a test point r^2 for each expert that it asks. A fit that calibrates leaves out training rows of a few leaves;
the factors that these need stay for predictions as far as the budget goes. How many experts a point asks, and how many
leaves some rows need, was measured with made data of 2 to 90 inputs, two experts blended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, expm1
from typing import cast

import numpy as np

from gpcommittee.aggregation import Neighbourhood
from gpcommittee.planning.case import Case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS, Work
from gpcommittee.prediction.neighbourhood.leave_one_out import MOST_LEAVES, MOST_ROWS
from gpcommittee.prediction.neighbourhood.leaves import MIDDLE
from gpcommittee.prediction.neighbourhood.predict import CHUNK, PORTION
from gpcommittee.prediction.neighbourhood.shares import VOTERS

SHARE_ASKED = 0.9
"""Experts that a point asks, as a share of those it may: measured 0.8 with 2 inputs, 0.9 with 3, 1.0 from 8 on; of
three, 0.73 with 3 inputs."""

LEAVES_AROUND = 3
"""Leaves around one, for every input, that its left-out rows ask too: measured 156 of 198 leaves and 251 of 798 with 3
inputs, 592 of 798 with 10, where this and chance give 159, 264 and 568."""

LEAF_OPERATIONS = 4e5
"""Products' operations that take as long as cutting one row into its leaf; measured 7 to 18 microseconds."""

SCALE_OPERATIONS = 4e5
"""The same for the local scale of one expert at a point; measured 8 to 13 microseconds."""

VISIT_OPERATIONS = (800.0, 100.0)
"""The same for one row that a search for nearest rows looks at, and for each of its inputs; measured with 10 to 90."""

MOST_DIMENSIONS = 7
"""A search looks at twice the rows for each dimension, up to so many: inputs of 8 to 21 columns took 25 to 136
microseconds a point. Random numbers that fill 10 dimensions take twice as long as this says, and 21 of them
sixteen times."""

ROW_INDICES = 5
"""Numbers that say of each row in which leaf and where in the search tree it lies, the tree's own nodes included."""

PORTION_VALUES = 14
"""Numbers for each expert that a point of a portion may ask: shares, the tasks they make, and answers."""


@dataclass(frozen=True)
class LeafSizes:
    """Leaves of a case and their experts.

    Attributes
    ----------
    n_leaves : int
    n_rows : int
        Rows of an expert.
    middle : int
        Of these, rows in its middle.
    leaf_size : int
        Rows of a leaf, on average.
    asked : float
        Experts that a point asks.
    """

    n_leaves: int
    n_rows: int
    middle: int
    leaf_size: int
    asked: float


def leaf_sizes(case: Case) -> LeafSizes:
    """Leaves of a case with the neighbourhood rule."""
    rule, n_rows = cast(Neighbourhood, case.rule), round(case.sizes.sum())
    sizes = rule.sizes(n_rows, len(case.sizes), case.n_features)
    if sizes.leaf_size >= n_rows:
        return LeafSizes(1, n_rows, n_rows, n_rows, 1.0)
    held = case.sizes[1:] if len(case.sizes) > 1 and sizes.n_rows < n_rows else case.sizes
    n_leaves = int(np.ceil(held / sizes.leaf_size).sum())
    leaf_size = ceil(float(held.sum()) / n_leaves)
    r = min(n_rows, max(sizes.n_rows, sizes.leaf_size + sizes.communication))
    asked = min(float(n_leaves), max(1.0, SHARE_ASKED * rule.blend))
    return LeafSizes(n_leaves, r, min(MIDDLE * leaf_size, r), leaf_size, asked)


def leaves_asked(case: Case) -> float:
    """Leaves that at least one test point asks, where these fall on them by chance."""
    leaves = leaf_sizes(case)
    return _hit(leaves.n_leaves, case.n_test * leaves.asked)


def leaves_left_out(case: Case) -> float:
    """Leaves whose experts predict the rows that a fit leaves out; 0 where it leaves out none."""
    leaves = leaf_sizes(case)
    if not case.calibrates:
        return 0.0
    if leaves.n_leaves <= MOST_LEAVES:
        return float(leaves.n_leaves)
    around = MOST_LEAVES * (1 + LEAVES_AROUND * case.n_features)
    return max(float(MOST_LEAVES), _hit(leaves.n_leaves, min(around, MOST_ROWS * leaves.asked)))


def _hit(n_leaves: int, n_draws: float) -> float:
    """Leaves that are drawn at least once."""
    return -n_leaves * expm1(-n_draws / n_leaves) if n_leaves > 1 else float(n_draws > 0)


def leaf_bytes(case: Case) -> float:
    """Bytes of one expert's factor."""
    return case.itemsize * float(leaf_sizes(case).n_rows) ** 2


def leaves_made(case: Case) -> float:
    """Factors that a first prediction makes: not those that a fit has left, and again for each portion if not kept."""
    needed, left = leaves_asked(case), leaves_left_out(case)
    if max(needed, left) * leaf_bytes(case) <= case.budget:
        return needed * max(0.0, 1 - left / leaf_sizes(case).n_leaves)
    n_portions = max(1.0, case.n_test / PORTION)
    return n_portions * _hit(leaf_sizes(case).n_leaves, case.n_test / n_portions * leaf_sizes(case).asked)


def leaf_factor_work(case: Case, n_factors: float) -> Work:
    """So many factors, and the search for their rows."""
    leaves = leaf_sizes(case)
    r, p = float(leaves.n_rows), float(leaves.middle)
    search = _search_operations(case, leaves.n_rows) if leaves.n_leaves > 1 else 0.0
    return Work(
        products=n_factors * 2 * case.n_features * r**2,
        solves=0.0,
        factorisations=n_factors * (r**3 + 2 * p**3) / 3,
        entries=n_factors * (KERNEL_COSTS[case.kernel].value * r**2 + search),
        call_seconds=n_factors * CALL_SECONDS,
        n_tasks=max(1, ceil(n_factors)),
    )


def leaf_moments_work(case: Case) -> Work:
    """The experts that test points ask, their local scales, and the search for them."""
    leaves = leaf_sizes(case)
    asked, r = case.n_test * leaves.asked, float(leaves.n_rows)
    search = _search_operations(case, VOTERS + 1) if leaves.n_leaves > 1 else 0.0
    needed = leaves_asked(case)
    return Work(
        products=asked * (2 * case.n_features + 4) * r,
        solves=asked * r**2,
        factorisations=0.0,
        entries=asked * (KERNEL_COSTS[case.kernel].value * r + SCALE_OPERATIONS) + case.n_test * search,
        call_seconds=CALL_SECONDS * max(needed, asked / CHUNK),
        n_tasks=max(1, ceil(needed)),
    )


def cutting_work(case: Case) -> Work:
    """Cutting all rows into leaves, on one worker while the others wait."""
    cut = 0.0 if leaf_sizes(case).n_leaves == 1 else LEAF_OPERATIONS * float(case.sizes.sum())
    return Work(0.0, 0.0, 0.0, cut, CALL_SECONDS, 1)


def left_out_work(case: Case) -> tuple[Work, ...]:
    """Leaves, the factors that left-out rows need, and their predictions; nothing where a fit is not calibrated."""
    if not case.calibrates:
        return ()
    n_left_out = int(min(MOST_ROWS, case.sizes.sum(), MOST_LEAVES * leaf_sizes(case).leaf_size))
    factors = leaf_factor_work(case, leaves_left_out(case))
    return cutting_work(case), factors, leaf_moments_work(replace(case, n_test=n_left_out))


def first_prediction_work(case: Case) -> tuple[Work, ...]:
    """What a first prediction takes after a fit."""
    cutting = () if case.calibrates else (cutting_work(case),)
    return *cutting, leaf_factor_work(case, leaves_made(case)), leaf_moments_work(case)


def leaf_rows_bytes(case: Case) -> float:
    """Rows in the kernel's metric, in their own order and in that of the tree, and where each lies."""
    return float(case.sizes.sum() * 8 * (2 * case.n_features + ROW_INDICES))


def portion_bytes(case: Case) -> float:
    """Test points that are sorted by leaf together, standardised twice over, and what is known of each."""
    values = 2 * case.n_features + PORTION_VALUES * cast(Neighbourhood, case.rule).blend
    return float(min(case.n_test, PORTION) * 8 * values)


def leaf_worker_bytes(case: Case, n_arrays: int, *, kept: bool) -> float:
    """Bytes of one worker's temporary arrays: a covariance that stays, and a factor's middle or a chunk of points.

    Parameters
    ----------
    case : Case
    n_arrays : int
        Arrays of an expert's rows by a chunk's points that are alive at once.
    kept : bool
        Whether the factor that is made is one of those that are kept.
    """
    leaves = leaf_sizes(case)
    r, p = float(leaves.n_rows), float(leaves.middle)
    making = p**2 + (0 if kept else r**2)
    return case.itemsize * ((n_arrays - 1) * r**2 + max(making, n_arrays * min(CHUNK, case.n_test) * r))


def _search_operations(case: Case, n_nearest: int) -> float:
    """Of a search for so many nearest rows."""
    of_row, of_input = VISIT_OPERATIONS
    visited = min(float(case.sizes.sum()), n_nearest * 2.0 ** min(case.n_features, MOST_DIMENSIONS))
    return visited * (of_row + of_input * case.n_features)
