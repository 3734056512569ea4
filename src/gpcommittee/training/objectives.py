"""The objectives by name, for a whole committee or for some of its experts that stand for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpcommittee.engines import Engine
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import IntArray
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
    rows = np.array([len(y) for _, y in blocks], dtype=np.int64)
    make = ConditionalObjective if is_conditional(name, rows) else FactorisedObjective
    return make(kernel, blocks, engine, weight_of(name, rows, n_rows))


def is_conditional(name: str, rows: IntArray) -> bool:
    """Whether experts are conditioned on the communication expert: not if there is no other.

    Parameters
    ----------
    name : str
        One of ``OBJECTIVES``.
    rows : ndarray of int64, shape (n_experts,)
        Rows of each expert.
    """
    return name == "conditional" and len(rows) > 1


def weight_of(name: str, rows: IntArray, n_rows: int) -> float:
    """Weight of the experts' terms, of a conditional objective that of the others' alone.

    Parameters
    ----------
    name : str
        One of ``OBJECTIVES``.
    rows : ndarray of int64, shape (n_experts,)
        Rows of each expert, the communication expert first.
    n_rows : int
        Rows of the whole committee.

    Returns
    -------
    float
    """
    given = int(rows[0]) if is_conditional(name, rows) else 0
    return (n_rows - given) / (int(rows.sum()) - given)
