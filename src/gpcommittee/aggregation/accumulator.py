"""The one accumulator of all additive rules: a monoid (``empty``, ``single``, ``merge``) of size O(test points).

Every additive rule (Eqs. 4 to 6 and 14 of the paper) is a weighted sum of each expert's excess over a reference
distribution. With precisions tau = 1 / variance and weights b_i:
tau = tau_ref + sum b_i (tau_i - tau_ref),  tau mu = tau_ref mu_ref + sum b_i (tau_i mu_i - tau_ref mu_ref).
The excess form keeps the sum free of the cancellation between sum b_i tau_i and (1 - sum b_i) tau_ref.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Term:
    """One expert's contribution before weighting, each of shape (n_points,).

    Attributes
    ----------
    weight : Tensor
        b_i.
    precision : Tensor
        Excess precision tau_i - tau_ref.
    shift : Tensor
        Excess precision-weighted mean tau_i mu_i - tau_ref mu_ref.
    """

    weight: Tensor
    precision: Tensor
    shift: Tensor


@dataclass(frozen=True)
class Accumulator:
    """What is known of a sum of terms.

    Attributes
    ----------
    count : int
        Experts summed.
    precision, shift : Tensor, shape (n_points,)
        Weighted sums of the terms' excesses; 0 when empty.
    lead : Term or None
        The term of the most certain expert at each test point, the first of equals; None when empty.
    """

    count: int
    precision: Tensor
    shift: Tensor
    lead: Term | None


def empty(like: Tensor) -> Accumulator:
    """The accumulator of no term.

    Parameters
    ----------
    like : Tensor, shape (n_points,)
        Gives number of points, type and device.

    Returns
    -------
    Accumulator
    """
    return Accumulator(0, torch.zeros_like(like), torch.zeros_like(like), None)


def single(term: Term) -> Accumulator:
    """The accumulator of one term.

    Parameters
    ----------
    term : Term

    Returns
    -------
    Accumulator
    """
    return Accumulator(1, term.weight * term.precision, term.weight * term.shift, term)


def merge(first: Accumulator, second: Accumulator) -> Accumulator:
    """The accumulator of both; associative.

    Parameters
    ----------
    first, second : Accumulator
        At the same test points, the experts of ``first`` before those of ``second``.

    Returns
    -------
    Accumulator
    """
    return Accumulator(
        first.count + second.count,
        first.precision + second.precision,
        first.shift + second.shift,
        _more_certain(first.lead, second.lead),
    )


def _more_certain(first: Term | None, second: Term | None) -> Term | None:
    if first is None or second is None:
        return first or second
    return choose(second.precision > first.precision, second, first)


def choose(condition: Tensor, first: Term, second: Term) -> Term:
    """The first term where a condition of shape (n_points,) holds, the second elsewhere."""
    return Term(
        torch.where(condition, first.weight, second.weight),
        torch.where(condition, first.precision, second.precision),
        torch.where(condition, first.shift, second.shift),
    )
