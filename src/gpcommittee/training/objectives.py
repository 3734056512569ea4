"""The objectives by name, for a whole committee or for some of its experts that stand for all."""

from __future__ import annotations

from collections.abc import Sequence

from gpcommittee.engines import Engine
from gpcommittee.kernels import KernelFunction
from gpcommittee.training.conditional import ConditionalObjective
from gpcommittee.training.objective import Block, FactorisedObjective, Objective

OBJECTIVES = ("factorised", "conditional")
"""Experts independent, or independent given the communication set."""


def make_objective(
    name: str, kernel: KernelFunction, blocks: Sequence[Block], n_rows: int, engine: Engine
) -> Objective:
    """A committee's objective, or an estimate of it by some of its experts: their terms by their share of the rows.

    The conditional objective knows the communication expert's term, so that the others' alone are estimated; without
    others its own stands for all. Log priors count once.

    Parameters
    ----------
    name : str
        One of ``OBJECTIVES``.
    kernel : KernelFunction
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of the experts, the communication expert first.
    n_rows : int
        Rows of the whole committee.
    engine : Engine

    Returns
    -------
    Objective
    """
    given = len(blocks[0][1]) if name == "conditional" and len(blocks) > 1 else 0
    weight = (n_rows - given) / (sum(len(y) for _, y in blocks) - given)
    if given:
        return ConditionalObjective(kernel, blocks, engine, weight)
    return FactorisedObjective(kernel, blocks, engine, weight)
