"""Work and memory of NPAE over the experts that each test point chooses, beside the pass that ranks them.

Per test point and chosen expert of m rows with c communication rows: two solves of m^2, 4 c m for the residual process;
2 m^2 for each pair. Covariances of a pair are computed once for each group of points in which some point chose both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpcommittee.aggregation import NPAE
from gpcommittee.planning.case import Case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS, Work
from gpcommittee.prediction.restricted import Needs

PAIR_ENTRY = 50.0
"""Products' operations that take as long as multiplying and summing one number of a pair's products."""

COMBINED_ENTRY = 1000.0
"""The same for one entry of the covariance of the experts' means."""

PARTNERS = 10
"""Experts, for each that a point chooses, with which one expert is paired in a group; measured with up to 400 experts
and groups of 4,096 points: 2 to 3.5 with 2 inputs, 7 to 16 with 8."""


def restricted_rule(case: Case) -> NPAE | None:
    """The rule, if it is NPAE over some of the experts or over augmented ones."""
    return case.rule if isinstance(case.rule, NPAE) and not case.rule.is_papers else None


def as_predicted(case: Case) -> Case:
    """The case as its rule computes it: that one in float64."""
    return case if restricted_rule(case) is None else replace(case, itemsize=8)


def restricted_work(case: Case, rule: NPAE) -> Work:
    """Moments of the chosen experts at all test rows and their aggregation, beside the pass that ranks the experts.

    Raises
    ------
    MemoryBudgetError
        If it does not fit the memory budget.
    """
    needs, kernel = _needs(case, rule), KERNEL_COSTS[case.kernel].value
    k, c, n_experts = needs.n_chosen, needs.coupled, len(case.sizes)
    m, points = float(case.sizes.mean()), case.n_test
    size, pairs_of_point = min(needs.group_size(case.budget), max(points, 1)), k * (k - 1) / 2
    n_groups = -(-points // size)
    most = min(n_experts * (n_experts - 1), n_experts * PARTNERS * k) / 2
    n_pairs = n_groups * min(most, size * pairs_of_point)
    entries = points * (k * m + c) + n_pairs * m**2
    return Work(
        products=points * (4 * c * k * m + pairs_of_point * 2 * (m**2 + c)) + 2 * case.n_features * entries,
        solves=points * (2 * k * m**2 + c**2),
        factorisations=points * k**3 / 3,
        entries=kernel * entries + points * (PAIR_ENTRY * pairs_of_point * m + COMBINED_ENTRY * k**2),
        call_seconds=CALL_SECONDS * (n_groups * n_experts + n_pairs),
        n_tasks=max(1, round(n_pairs)),
    )


def restricted_worker_bytes(case: Case, rule: NPAE) -> float:
    """Bytes of a group of test points, each worker's share of them."""
    needs = _needs(case, rule)
    return needs.group_bytes(min(needs.group_size(case.budget), case.n_test)) / case.n_workers


def _needs(case: Case, rule: NPAE) -> Needs:
    return Needs.of([rule], np.concatenate([[0], np.cumsum(case.sizes)]), case.n_workers)
