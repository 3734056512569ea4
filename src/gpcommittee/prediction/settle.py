"""Which experts are settled at a node: left out, or taken from its pivots.

Every candidate's moments are known exactly at the sample of the node's points, and with them the whole sum there. What
leaving an expert out, or taking it from the pivots, changes at the sample is a number; experts are settled from the
smallest change while all of it together stays within an allowance. Between the points of the sample an expert may know
more than at them, the more so the more the pivots leave of the variance: ``SEEN`` and ``SAFETY`` say how much is
reckoned with.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Context, Term, finish, merge
from gpcommittee.aggregation.accumulator import choose
from gpcommittee.prediction.node import PIVOTS, Sample, part
from gpcommittee.prediction.selection import always_needed, as_columns, leads_best
from gpcommittee.records import Moments

HIDDEN = 5.0
"""How many times more than the pivots show an expert may know elsewhere, per share of variance that they leave."""

SAFETY = 3.0
"""Times the change at the checks that is reckoned with between them."""

NEAR_LEAD = 0.7
"""Share of the largest precision from which on an expert may be the most certain one between the points."""


@dataclass(frozen=True)
class Changes:
    """What experts change, each of shape (n_points, n_experts).

    Attributes
    ----------
    precision : Tensor
        Relative to the aggregated precision.
    mean : Tensor
        In predicted noisy standard deviations.
    """

    precision: Tensor
    mean: Tensor


@dataclass(frozen=True)
class Settled:
    """Masks of shape (n_candidates,).

    Attributes
    ----------
    left_out : Tensor of bool
    from_pivots : Tensor of bool
    """

    left_out: Tensor
    from_pivots: Tensor

    @property
    def open(self) -> Tensor:
        """Those that are not settled."""
        return ~(self.left_out | self.from_pivots)


def settle(rule: AdditiveRule, sample: Sample, noise_variance: float, allowance: float) -> Settled:
    """Which candidates are settled at a node.

    Parameters
    ----------
    rule : AdditiveRule
    sample : Sample
        With the moments of all candidates.
    noise_variance : float
    allowance : float
        What those left out may change together, and those taken from the pivots: the mean in predicted noisy standard
        deviations, the variance at the rule's level relative to it.

    Returns
    -------
    Settled
    """
    context = sample.sample.context(rule, noise_variance)
    reference = sample.sample.reference
    known = part(sample.node.total, sample.numbers)
    outcome = finish(rule, merge(known, _sum(rule, sample.exact, context)), context)
    unit = (outcome.var_latent + noise_variance).sqrt()
    cautious = _cautious(sample.exact, reference, (1 + HIDDEN * sample.left) * sample.largest)

    def changes(moments: Moments, rows: slice) -> Changes:
        at = sample.sample.at(rows).context(rule, noise_variance)
        some = Moments(outcome.mean[rows], outcome.var_latent[rows])
        return _changes(rule, moments, Moments(reference.mean[rows], reference.var_latent[rows]), at, some, unit[rows])

    free = ~_may_lead(rule, sample, cautious, known, context)
    for expert in always_needed(rule):
        free[torch.from_numpy(sample.node.experts == expert)] = False
    if sample.n_pivots > PIVOTS:
        left_out = _smallest(changes(cautious, slice(None)), free, allowance)
        return Settled(left_out, torch.zeros_like(left_out))
    everywhere, checks = slice(None), slice(sample.n_pivots, None)
    left_out = _smallest(changes(cautious, everywhere), free, allowance)
    exact = changes(Moments(sample.exact.mean[checks], sample.exact.var_latent[checks]), checks)
    between = changes(sample.between, checks)
    errors = Changes(
        SAFETY * (between.precision - exact.precision),
        SAFETY * (between.mean - exact.mean),
    )
    return Settled(left_out, _smallest(errors, free & ~left_out, allowance))


def _sum(rule: AdditiveRule, moments: Moments, context: Context) -> Accumulator:
    """The sum of all experts, from moments of shape (n_points, n_experts)."""
    term = _terms(rule, moments, as_columns(context))
    lead = term.precision.argmax(dim=1, keepdim=True)
    best = Term(*(values.gather(1, lead)[:, 0] for values in (term.weight, term.precision, term.shift)))
    precision, shift = (term.weight * term.precision).sum(dim=1), (term.weight * term.shift).sum(dim=1)
    return Accumulator(moments.mean.shape[1], precision, shift, best)


def _terms(rule: AdditiveRule, moments: Moments, context: Context) -> Term:
    reference = _reference(rule, context)
    variance = rule.at_level(moments.var_latent, context)
    at_level = rule.at_level(reference.var_latent, context)
    precision = 1 / variance - 1 / at_level
    shift = moments.mean / variance - reference.mean / at_level
    return Term(rule.weight(variance, context, -1), precision, shift)


def _reference(rule: AdditiveRule, context: Context) -> Moments:
    if context.communication is None:
        return Moments(torch.zeros_like(context.prior_variance), context.prior_variance)
    return context.communication


def _cautious(moments: Moments, reference: Moments, share: Tensor) -> Moments:
    """Moments of experts that take away such shares of the variance everywhere."""
    variance, mean = reference.var_latent[:, None], reference.mean[:, None]
    gain = (variance - moments.var_latent).clamp_min(0.0)
    more = torch.maximum(gain, torch.minimum(share, 1 - share.new_tensor(torch.finfo(share.dtype).eps)) * variance)
    larger = (more / gain.clamp_min(torch.finfo(gain.dtype).tiny)).sqrt()
    return Moments(mean + larger * (moments.mean - mean), variance - more)


def _changes(
    rule: AdditiveRule, moments: Moments, reference: Moments, context: Context, outcome: Moments, unit: Tensor
) -> Changes:
    columns = as_columns(context)
    term = _terms(rule, moments, columns)
    total = rule.at_level(outcome.var_latent, context)[:, None]
    moved = term.shift - outcome.mean[:, None] * term.precision
    return Changes(term.weight * term.precision * total, term.weight * moved * total / unit[:, None])


def _smallest(changes: Changes, free: Tensor, allowance: float) -> Tensor:
    """As many of the free experts as change less than the allowance together, from the smallest.

    Changes of the same sign add up; those of random sign, in quadrature.
    """
    found = torch.zeros_like(free)
    numbers = free.nonzero()[:, 0]
    if len(numbers) == 0 or len(changes.mean) == 0:
        found[numbers] = len(changes.mean) == 0
        return found
    score = torch.maximum(changes.precision.abs(), changes.mean.abs()).amax(dim=0)[numbers]
    order = numbers[score.argsort(stable=True)]
    together = torch.maximum(_together(changes.precision[:, order]), _together(changes.mean[:, order]))
    within = (together.amax(dim=0) <= allowance).cumprod(dim=0).bool()
    found[order[within]] = True
    return found


def _together(values: Tensor) -> Tensor:
    return torch.maximum(values.cumsum(dim=1).abs(), 2 * values.square().cumsum(dim=1).sqrt())


def _may_lead(rule: AdditiveRule, sample: Sample, cautious: Moments, known: Accumulator, context: Context) -> Tensor:
    """Candidates that may be the most certain expert somewhere, where that one has a weight of its own."""
    if not leads_best(rule):
        return torch.zeros(len(sample.node.experts), dtype=torch.bool)
    best = _sum(rule, sample.exact, context).lead
    assert best is not None
    if known.lead is not None:
        best = choose(known.lead.precision > best.precision, known.lead, best)
    precision = _terms(rule, cautious, as_columns(context)).precision
    return (precision >= NEAR_LEAD * best.precision[:, None]).any(dim=0)
