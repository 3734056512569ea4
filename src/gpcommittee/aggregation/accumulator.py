"""The one accumulator of all additive rules: a monoid (``empty``, ``single``, ``merge``) of size O(test points).

Every additive rule (Eqs. 4 to 6 and 14 of the paper) is a weighted sum of each expert's excess over a reference
distribution. With precisions tau = 1 / variance and weights b_i:
tau = tau_ref + sum b_i (tau_i - tau_ref),  tau mu = tau_ref mu_ref + sum b_i (tau_i mu_i - tau_ref mu_ref).
The excess form keeps the sum free of the cancellation between sum b_i tau_i and (1 - sum b_i) tau_ref.
The logarithms of dispersions d, by which variances are calibrated, are averaged with what each expert adds to the
precision, the prior (index 0) counting as 1: tau log d = (tau_ref - tau_0) log d_ref + sum b_i (tau_i - tau_ref) log
d_i, or sum b_i (tau_i - tau_0) log d_i where there is no reference. Where experts have noise of their own, r_i times
the shared, each counts what it adds in units of its own noise, r_i (tau_i - tau_ref), and log r is averaged alike: rows
count as rows, and a clean expert does not drown its noisy neighbours.

Rules whose weights are normalised average instead: the accumulator holds the average so far and the logarithm of the
weights in it. Averages of averages stay within what they average, and weights of any size neither overflow nor vanish.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

SUMS = 5
"""Arrays that are summed: those of ``Term.summed``."""


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
    noise : Tensor
        The same with the logarithm of its relative noise.
    surplus : Tensor
        What it adds to the precision in units of its own noise, less the same in units of the shared noise.
    """

    weight: Tensor
    precision: Tensor
    shift: Tensor
    dispersion: Tensor
    noise: Tensor
    surplus: Tensor

    @property
    def values(self) -> tuple[Tensor, ...]:
        """Its arrays, in the order of its arguments."""
        return self.weight, *self.summed

    @property
    def summed(self) -> tuple[Tensor, ...]:
        """The arrays that are summed or averaged."""
        return self.precision, self.shift, self.dispersion, self.noise, self.surplus


@dataclass(frozen=True)
class Accumulator:
    """What is known of a sum or an average of terms.

    Attributes
    ----------
    count : int
        Experts in it.
    precision, shift, dispersion, noise, surplus : Tensor, shape (n_points,)
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
    noise: Tensor
    surplus: Tensor
    lead: Term | None
    log_weight: Tensor | None = None

    @classmethod
    def of(cls, count: int, sums: Iterable[Tensor], lead: Term | None, log_weight: Tensor | None = None) -> Accumulator:
        """From its sums or averages, in the order of the arguments."""
        precision, shift, dispersion, noise, surplus = sums
        return cls(count, precision, shift, dispersion, noise, surplus, lead, log_weight)

    @property
    def sums(self) -> tuple[Tensor, ...]:
        """Its sums or averages, in the order of its arguments."""
        return self.precision, self.shift, self.dispersion, self.noise, self.surplus

    def plus(self, weight: Tensor, term: Term) -> Accumulator:
        """The same with more weight on a term that is counted already."""
        sums = (total + weight * value for total, value in zip(self.sums, term.summed, strict=True))
        return Accumulator.of(self.count, sums, self.lead, self.log_weight)

    def divided_by(self, divisor: Tensor | float) -> Accumulator:
        """The same with all weights divided by a number, or by one for each point."""
        return Accumulator.of(self.count, (total / divisor for total in self.sums), self.lead, self.log_weight)


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
    return Accumulator.of(0, (torch.zeros_like(like) for _ in range(SUMS)), None)


def single(term: Term) -> Accumulator:
    """The accumulator of one term.

    Parameters
    ----------
    term : Term

    Returns
    -------
    Accumulator
    """
    return Accumulator.of(1, (term.weight * value for value in term.summed), term)


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
    return Accumulator.of(1, term.summed, None, term.weight)


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
    sums = (a + b for a, b in zip(first.sums, second.sums, strict=True))
    return Accumulator.of(first.count + second.count, sums, _more_certain(first.lead, second.lead))


def side_by_side(parts: Sequence[Accumulator]) -> Accumulator:
    """One accumulator of the points of several sums.

    Parameters
    ----------
    parts : sequence of Accumulator
        Sums or averages of the same experts at different test points; at least one.

    Returns
    -------
    Accumulator
        On the CPU.
    """
    log_weights = [part.log_weight for part in parts if part.log_weight is not None]
    leads = [part.lead for part in parts if part.lead is not None]
    return Accumulator.of(
        parts[0].count,
        map(joined, zip(*(part.sums for part in parts), strict=True)),
        Term(*map(joined, zip(*(lead.values for lead in leads), strict=True))) if leads else None,
        joined(log_weights) if log_weights else None,
    )


def joined(parts: Sequence[Tensor]) -> Tensor:
    """A copy of tensors one after another, on the CPU."""
    return torch.cat([part.cpu() for part in parts])


def _average(first: Accumulator, second: Accumulator, log_first: Tensor, log_second: Tensor) -> Accumulator:
    """By the shares of their weights, which add up to 1."""
    of_first, of_second = (log_first - log_second).sigmoid(), (log_second - log_first).sigmoid()
    averages = (of_first * a + of_second * b for a, b in zip(first.sums, second.sums, strict=True))
    return Accumulator.of(first.count + second.count, averages, None, torch.logaddexp(log_first, log_second))


def _more_certain(first: Term | None, second: Term | None) -> Term | None:
    if first is None or second is None:
        return first or second
    more = second.precision > first.precision
    return Term(*(torch.where(more, b, a) for a, b in zip(first.values, second.values, strict=True)))
