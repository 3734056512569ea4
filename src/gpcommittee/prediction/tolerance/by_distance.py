"""The largest of something at a distance or beyond it, in steps of the square root of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpcommittee.records import FloatArray, IntArray

StepArray = NDArray[np.int8]

N_STEPS = 16
"""Distances told apart: less than 1 in the kernel's metric, up to the root of 2, up to 2, ..., beyond 128."""

POOLED = 0.5
"""Quantile of all experts' rows below which no expert's value is trusted: few are known of one."""


def step_of(squares: FloatArray) -> StepArray:
    """Number of the step that each squared distance falls into, 0 for the nearest."""
    with np.errstate(divide="ignore"):
        steps = np.floor(np.log2(squares)) + 1
    found: StepArray = np.clip(steps, 0, N_STEPS - 1).astype(np.int8)
    return found


def largest_beyond(values: FloatArray, squares: FloatArray) -> FloatArray:
    """The largest value at each step or beyond, shape (N_STEPS,): infinite at the first and nearer than any is known.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Not negative.
    squares : ndarray, shape (n,)
        Squared distances at which they are known.

    Examples
    --------
    >>> found = largest_beyond(np.array([3.0, 1.0, 2.0]), np.array([2.0, 4.0, 16.0]))
    >>> found[step_of(np.array([0.5, 1.0, 2.0, 4.0, 16.0, 1e9]))].tolist()
    [inf, inf, 3.0, 2.0, 2.0, 2.0]
    """
    found = np.zeros(N_STEPS)
    if len(values) == 0:
        return np.full(N_STEPS, np.inf)
    steps = step_of(squares)
    np.maximum.at(found, steps, values)
    found = np.maximum.accumulate(found[::-1])[::-1]
    found[steps.max() :] = found[steps.max()]
    found[: max(1, steps.min())] = np.inf
    return found


def pooled(largest: FloatArray, weights: IntArray) -> FloatArray:
    """The largest values of all experts, none below what most of their rows have, nor below rounding errors.

    Parameters
    ----------
    largest : ndarray, shape (n_experts, N_STEPS)
    weights : ndarray of int64, shape (n_experts,)
        Rows that stand for each expert: one that is a single row many times tells little of the others.

    Returns
    -------
    ndarray, shape (n_experts, N_STEPS)
    """
    usual = [_usual(step, weights, np.isfinite(step)) for step in largest.T]
    return np.maximum(np.maximum(largest, usual), np.finfo(np.float64).eps)


def _usual(values: FloatArray, weights: IntArray, known: NDArray[np.bool_]) -> float:
    """Weighted quantile of the values that are known, infinite where none is."""
    if not known.any():
        return float(np.inf)
    return float(np.quantile(values[known], POOLED, weights=weights[known], method="inverted_cdf"))
