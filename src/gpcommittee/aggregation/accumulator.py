"""The one accumulator of all additive rules: a monoid (``empty``, ``single``, ``merge``) of size O(test points).

Every additive rule (Eqs. 4 to 6 and 14 of the paper) is a weighted sum of each expert's excess over a reference
distribution. With precisions tau = 1 / variance and weights b_i:
tau = tau_ref + sum b_i (tau_i - tau_ref),  tau mu = tau_ref mu_ref + sum b_i (tau_i mu_i - tau_ref mu_ref).
The excess form keeps the sum free of the cancellation between sum b_i tau_i and (1 - sum b_i) tau_ref.
The logarithms of dispersions d, by which variances are calibrated, are averaged with what each expert adds to the
precision, the prior (index 0) counting as 1: tau log d = (tau_ref - tau_0) log d_ref + sum b_i (tau_i - tau_ref) log
d_i, or sum b_i (tau_i - tau_0) log d_i where there is no reference.

Rules whose weights are normalised average instead: the accumulator holds the average so far and the logarithm of the
weights in it. Averages of averages stay within what they average, and weights of any size neither overflow nor vanish.
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
        b_i; where terms are averaged, its logarithm up to a constant.
    precision : Tensor
        Excess precision tau_i - tau_ref; where terms are averaged, the first of ``AdditiveRule.statistics``.
    shift : Tensor
        Excess precision-weighted mean tau_i mu_i - tau_ref mu_ref; where terms are averaged, the second of
        ``AdditiveRule.statistics``.
    dispersion : Tensor
        What the expert adds to the precision, times the logarithm of its dispersion; where terms are averaged, the
        share of the prior variance that it takes away, times that logarithm.
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
    """What is known of a sum or an average of terms.

    Attributes
    ----------
    count : int
        Experts in it.
    precision, shift, dispersion : Tensor, shape (n_points,)
        Weighted sums or averages of the terms'; 0 when empty.
    lead : Term or None
        The term of the most certain expert at each test point, the first of equals; None when empty and in an average.
    log_weight : Tensor of shape (n_points,), or None
        Logarithm of the summed weights of an average; None when empty and in a sum.
    """

    count: int
    precision: Tensor
    shift: Tensor
    dispersion: Tensor
    lead: Term | None
    log_weight: Tensor | None = None

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


def averaged(term: Term) -> Accumulator:
    """The average of one term.

    Parameters
    ----------
    term : Term
        With the logarithm of its weight.

    Returns
    -------
    Accumulator
    """
    return Accumulator(1, term.precision, term.shift, term.dispersion, None, term.weight)


def merge(first: Accumulator, second: Accumulator) -> Accumulator:
    """The accumulator of both; associative.

    Parameters
    ----------
    first, second : Accumulator
        Two sums or two averages at the same test points, the experts of ``first`` before those of ``second``.

    Returns
    -------
    Accumulator
    """
    if first.count == 0 or second.count == 0:
        return first if second.count == 0 else second
    if first.log_weight is not None and second.log_weight is not None:
        return _average(first, second, first.log_weight, second.log_weight)
    return Accumulator(
        first.count + second.count,
        first.precision + second.precision,
        first.shift + second.shift,
        first.dispersion + second.dispersion,
        _more_certain(first.lead, second.lead),
    )


def _average(first: Accumulator, second: Accumulator, log_first: Tensor, log_second: Tensor) -> Accumulator:
    """By the shares of their weights, which add up to 1."""
    of_first, of_second = (log_first - log_second).sigmoid(), (log_second - log_first).sigmoid()
    return Accumulator(
        first.count + second.count,
        of_first * first.precision + of_second * second.precision,
        of_first * first.shift + of_second * second.shift,
        of_first * first.dispersion + of_second * second.dispersion,
        None,
        torch.logaddexp(log_first, log_second),
    )


def _more_certain(first: Term | None, second: Term | None) -> Term | None:
    if first is None or second is None:
        return first or second
    return choose(second.precision > first.precision, second, first)


def choose(condition: Tensor, first: Term, second: Term) -> Term:
    """The first term where a condition of shape (n_points,) holds, the second elsewhere."""
    return Term(*(torch.where(condition, a, b) for a, b in zip(first.values, second.values, strict=True)))
