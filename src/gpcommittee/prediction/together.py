"""Experts in batches: how many test points and experts at a time, and moments of a block of experts together.

Only for engines that give a task memory for it. Moments of each expert come out by themselves, so that rules sum them
in the order of the experts, as they do where experts are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from gpcommittee.experts import AugmentedFactor, BaseFactor, Committee
from gpcommittee.padding import batches
from gpcommittee.records import Moments

MOST_POINTS = 8192
"""Most test points per task: products with more columns run no faster."""

FEWEST_POINTS = 1024
"""Test points below which rather fewer experts are taken together."""

ARRAYS_PER_POINT = 4
"""Numbers held per test point and row of an expert: covariance, its profile's two arrays, distances."""

MATRICES_PER_FACTOR = 4
"""Matrices of an expert's own and the communication expert's rows held while it is factored."""

AnyFactor = TypeVar("AnyFactor", BaseFactor, AugmentedFactor)


def factor_batches(committee: Committee, experts: Sequence[int], memory: float) -> list[list[int]]:
    """Experts to be factored together.

    Parameters
    ----------
    committee : Committee
    experts : sequence of int
    memory : float
        Bytes that a batch may take; 0: one by one.

    Returns
    -------
    list of list of int
    """
    rows = committee.offsets[1:] - committee.offsets[:-1]
    itemsize = float(committee.kernel.dtype.itemsize)
    found = batches(
        [int(rows[expert]) for expert in experts],
        lambda size: MATRICES_PER_FACTOR * itemsize * size * (size + int(rows[0])),
        memory,
    )
    return [[experts[position] for position in batch] for batch in found]


def points_together(committee: Committee, n_experts: int, memory: float) -> int:
    """Test points per task, a power of two: the most at which a block of experts takes no more memory than it may.

    Parameters
    ----------
    committee : Committee
    n_experts : int
        Experts in a block.
    memory : float
        Bytes.

    Returns
    -------
    int
        At least ``FEWEST_POINTS``.
    """
    rows = committee.offsets[1:] - committee.offsets[:-1]
    widest = ARRAYS_PER_POINT * (n_experts * int(rows[1:].max(initial=0)) + int(rows[0]))
    size = MOST_POINTS
    while size > FEWEST_POINTS and size * widest * committee.kernel.dtype.itemsize > memory:
        size //= 2
    return size


def moments_together(
    factors: Mapping[int, AnyFactor],
    experts: Sequence[int],
    stack: Callable[[Sequence[AnyFactor]], AnyFactor],
    moments: Callable[[AnyFactor], Moments],
    n_points: int,
    memory: float,
) -> Iterator[tuple[int, Moments]]:
    """Moments of each of some experts, computed in batches.

    Parameters
    ----------
    factors : mapping of int to factor
        Of one precision for all these experts.
    experts : sequence of int
    stack : callable
        From factors to that of a batch.
    moments : callable
        From the factor of a batch, or of one expert, to moments at ``n_points`` test points.
    n_points : int
    memory : float
        Bytes that a batch may take.

    Yields
    ------
    expert : int
    moments : Moments
    """
    chosen = [factors[expert] for expert in experts]
    bytes_of = partial(_bytes_of_moments, n_points, max((factor.lower.element_size() for factor in chosen), default=0))
    for batch in batches([len(factor.weights) for factor in chosen], bytes_of, memory):
        found = moments(stack([chosen[position] for position in batch]))
        for row, position in enumerate(batch):
            own = chosen[position]
            yield experts[position], Moments(found.mean[row], found.var_latent[row], own.dispersion, own.relative_noise)


def _bytes_of_moments(n_points: int, itemsize: int, size: int) -> float:
    return float(ARRAYS_PER_POINT * itemsize) * n_points * size
