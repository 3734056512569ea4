"""Factors of a committee against a memory budget, as a factor store counts and groups them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpcommittee.aggregation import NPAE, Experts, Neighbourhood
from gpcommittee.planning.case import Case
from gpcommittee.planning.neighbourhood import leaf_bytes, leaf_sizes, leaves_asked, leaves_left_out
from gpcommittee.prediction.factors import expert_blocks
from gpcommittee.records import FloatArray


@dataclass(frozen=True)
class FactorPlan:
    """Factors that a rule needs.

    Attributes
    ----------
    total : float
        Bytes of all of them.
    kept : bool
        Whether the budget holds them, so that later predictions need not compute them again.
    n_groups : int
        Groups of experts in which they are computed.
    resident : float
        Bytes alive at once, at most: what the budget holds, or a group that exceeds it.
    """

    total: float
    kept: bool
    n_groups: int
    resident: float


def plan_factors(case: Case) -> FactorPlan:
    """Factors of the case's experts for its rule; the communication expert's is always kept and not budgeted."""
    if isinstance(case.rule, Neighbourhood):
        return plan_leaf_factors(case, max(leaves_asked(case), leaves_left_out(case)))
    communication, others = case.itemsize * float(case.sizes[0]) ** 2, _others(case)
    at_once = isinstance(case.rule, NPAE)
    groups = [float(others.sum())] if at_once else _groups(others, case.budget)
    return FactorPlan(
        total=communication + float(others.sum()),
        kept=float(others.sum()) <= case.budget,
        n_groups=len(groups),
        resident=communication + max(*groups, min(float(others.sum()), case.budget)),
    )


def plan_leaf_factors(case: Case, n_needed: float) -> FactorPlan:
    """Factors of neighbourhood experts, of which so many are needed."""
    one, n_leaves = leaf_bytes(case), leaf_sizes(case).n_leaves
    kept = n_leaves * one <= case.budget
    return FactorPlan(n_leaves * one, kept, 1, min(n_needed * one, case.budget))


def _others(case: Case) -> FloatArray:
    """Bytes of each expert's own factor, shape (n_experts,); 0 for the communication expert."""
    own = case.sizes * (np.arange(len(case.sizes)) > 0)
    coupled = {Experts.NONE: 0.0, Experts.BASE: own, Experts.AUGMENTED: own + case.sizes[0]}[case.rule.experts]
    others: FloatArray = case.itemsize * own * coupled
    return others


def _groups(counted: FloatArray, budget: float) -> list[float]:
    """Bytes of each group of whole blocks of experts."""
    groups: list[float] = []
    for block in expert_blocks(range(len(counted))):
        size = float(counted[block.start : block.stop].sum())
        if groups and groups[-1] + size <= budget:
            groups[-1] += size
        else:
            groups.append(size)
    return groups
