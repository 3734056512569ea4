"""The one accumulator of all additive rules: a monoid (``empty``, ``single``, ``merge``) of size O(test points).

Every additive rule (Eqs. 4 to 6 and 14 of the paper) is a weighted sum of each expert's excess over a reference
distribution. With precisions tau = 1 / variance and weights b_i:
tau = tau_ref + sum b_i (tau_i - tau_ref),  tau mu = tau_ref mu_ref + sum b_i (tau_i mu_i - tau_ref mu_ref).
The excess form keeps the sum free of the cancellation between sum b_i tau_i and (1 - sum b_i) tau_ref.
The logarithms of dispersions d, by which variances are calibrated, are averaged with what each expert adds to the
precision, the prior (index 0) counting as 1: tau log d = (tau_ref - tau_0) log d_ref + sum b_i (tau_i - tau_ref) log
d_i, or sum b_i (tau_i - tau_0) log d_i where there is no reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    dispersion : Tensor
        What the expert adds to the precision, times the logarithm of its dispersion.
    """

    weight: Tensor
    precision: Tensor
    shift: Tensor
    dispersion: Tensor

    @property
    def values(self) -> tuple[Tensor, ...]:
        """Its arrays, in the order of its arguments."""
        return self.weight, self.precision, self.shift, self.dispersion


@dataclass(frozen=True)
class Accumulator:
    """What is known of a sum of terms.

    Attributes
    ----------
    count : int
        Experts summed.
    precision, shift, dispersion : Tensor, shape (n_points,)
        Weighted sums of the terms' excesses; 0 when empty.
    lead : Term or None
        The term of the most certain expert at each test point, the first of equals; None when empty.
    """

    count: int
    precision: Tensor
    shift: Tensor
    dispersion: Tensor
    lead: Term | None

    def plus(self, weight: Tensor, term: Term) -> Accumulator:
        """The same with more weight on a term that is counted already."""
        return replace(
            self,
            precision=self.precision + weight * term.precision,
            shift=self.shift + weight * term.shift,
            dispersion=self.dispersion + weight * term.dispersion,
        )

    def divided_by(self, divisor: Tensor | float) -> Accumulator:
        """The same with all weights divided by a number, or by one for each point."""
        return replace(
            self,
            precision=self.precision / divisor,
            shift=self.shift / divisor,
            dispersion=self.dispersion / divisor,
        )


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
    return Accumulator(0, torch.zeros_like(like), torch.zeros_like(like), torch.zeros_like(like), None)


def single(term: Term) -> Accumulator:
    """The accumulator of one term.

    Parameters
    ----------
    term : Term

    Returns
    -------
    Accumulator
    """
    weight = term.weight
    return Accumulator(1, weight * term.precision, weight * term.shift, weight * term.dispersion, term)


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
        first.dispersion + second.dispersion,
        _more_certain(first.lead, second.lead),
    )


def _more_certain(first: Term | None, second: Term | None) -> Term | None:
    if first is None or second is None:
        return first or second
    return choose(second.precision > first.precision, second, first)


def choose(condition: Tensor, first: Term, second: Term) -> Term:
    """The first term where a condition of shape (n_points,) holds, the second elsewhere."""
    return Term(*(torch.where(condition, a, b) for a, b in zip(first.values, second.values, strict=True)))
