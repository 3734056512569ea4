"""Which experts are settled at a node: left out, or taken from its pivots.

Every candidate's moments are known exactly at the sample of the node's points, and with them the whole sum there. What
leaving an expert out, or taking it from the pivots, changes at the sample is a number; experts are settled from the
smallest change while all of it together stays within an allowance. Between the points of the sample an expert may know
more than at them, the more so the more the pivots leave of the variance: ``SEEN`` and ``SAFETY`` say how much is
reckoned with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Aggregate, Context, Term, finish, merge
from gpcommittee.aggregation.accumulator import choose
from gpcommittee.prediction.node import PIVOTS, Sample, part
from gpcommittee.prediction.selection import always_needed, as_columns
from gpcommittee.records import Moments

HIDDEN = 5.0
"""How many times more than the pivots show an expert may know elsewhere, per share of variance that they leave."""

SAFETY = 1.5
"""Times what pivots miss at the checks that they may miss elsewhere."""

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
    dispersion : Tensor
        Relative to the calibrated variance.
    """

    precision: Tensor
    mean: Tensor
    dispersion: Tensor


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
    outcome = finish(rule, merge(known, _sum(rule, sample.exact, sample.dispersion, context)), context)
    cautious = _cautious(sample.exact, reference, (1 + HIDDEN * sample.left) * sample.largest)
    changes = partial(_changes, rule, sample, outcome, noise_variance)
    free = ~_may_be_best(rule, sample, cautious, known, context)
    for expert in always_needed(rule):
        free[torch.from_numpy(sample.node.experts == expert)] = False
    left_out = _smallest(changes(cautious, slice(None)), free, allowance)
    if sample.n_pivots > PIVOTS:
        return Settled(left_out, torch.zeros_like(left_out))
    exact, less = (changes(moments, slice(None)) for moments in (sample.exact, _from_pivots(sample)))
    errors = Changes(
        less.precision - exact.precision,
        less.mean - exact.mean,
        less.dispersion - exact.dispersion,
    )
    return Settled(left_out, _smallest(errors, free & ~left_out, allowance))


def _from_pivots(sample: Sample) -> Moments:
    """What experts taken from the pivots may say at points like those of the sample, but between them.

    Without checks the pivots leave nothing. Of the variance that the pivots leave at a check they miss a share, of its
    root their mean is off by a share. Both are taken to be as large, of the most that the pivots leave, wherever an
    expert says what it says at the sample. Checks need not be near what an expert knows: it is taken to miss as much
    as the pivots before them would have missed of the later ones.
    """
    reference = sample.sample.reference
    checks = slice(sample.n_pivots, None)
    if len(sample.rest) == 0:
        return sample.exact
    rest = sample.rest[:, None].clamp_min(torch.finfo(sample.rest.dtype).tiny)
    missed = ((sample.between.var_latent - sample.exact.var_latent[checks]).abs() / rest).amax(dim=0)
    moved = ((sample.between.mean - sample.exact.mean[checks]).abs() / rest.sqrt()).amax(dim=0)
    missed, moved = SAFETY * torch.maximum(torch.stack([missed, moved]), sample.finest)
    left = sample.left * reference.var_latent[:, None]
    variance = torch.minimum(sample.exact.var_latent + missed * left, reference.var_latent[:, None])
    return Moments(sample.exact.mean + moved * left.sqrt(), variance)


def _sum(rule: AdditiveRule, moments: Moments, dispersion: Tensor, context: Context) -> Accumulator:
    """The sum of all experts, from moments of shape (n_points, n_experts)."""
    term = _terms(rule, moments, dispersion, as_columns(context))
    lead = term.precision.argmax(dim=1, keepdim=True)
    best = Term(*(values.gather(1, lead)[:, 0] for values in term.values))
    precision, shift, calibration = ((term.weight * values).sum(dim=1) for values in term.values[1:])
    return Accumulator(moments.mean.shape[1], precision, shift, calibration, best)


def _terms(rule: AdditiveRule, moments: Moments, dispersion: Tensor, context: Context) -> Term:
    reference = _reference(rule, context)
    variance = rule.at_level(moments.var_latent, context)
    at_level = rule.at_level(reference.var_latent, context)
    precision = 1 / variance - 1 / at_level
    shift = moments.mean / variance - reference.mean / at_level
    return Term(rule.weight(variance, context, -1), precision, shift, precision * dispersion.log())


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
    rule: AdditiveRule, sample: Sample, outcome: Aggregate, noise_variance: float, moments: Moments, rows: slice
) -> Changes:
    """What experts with such moments change at some points of the sample."""
    context = sample.sample.at(rows).context(rule, noise_variance)
    term = _terms(rule, moments, sample.dispersion, as_columns(context))
    mean, latent = outcome.mean[rows, None], outcome.var_latent[rows, None]
    share = term.weight * rule.at_level(outcome.var_latent[rows], context)[:, None]
    return Changes(
        share * term.precision,
        share * (term.shift - mean * term.precision) / (latent + noise_variance).sqrt(),
        share * (term.dispersion - term.precision * outcome.dispersion[rows, None].log()),
    )


def _smallest(changes: Changes, free: Tensor, allowance: float) -> Tensor:
    """As many of the free experts as change less than the allowance together, from the smallest.

    Changes of the same sign add up; those of random sign, in quadrature.
    """
    found = torch.zeros_like(free)
    numbers = free.nonzero()[:, 0]
    if len(numbers) == 0 or len(changes.mean) == 0:
        found[numbers] = len(changes.mean) == 0
        return found
    measures = torch.cat([changes.precision, changes.mean, changes.dispersion])[:, numbers]
    order = measures.abs().amax(dim=0).argsort(stable=True)
    within = (_together(measures[:, order]).amax(dim=0) <= allowance).cumprod(dim=0).bool()
    order = numbers[order]
    found[order[within]] = True
    return found


def _together(values: Tensor) -> Tensor:
    return torch.maximum(values.cumsum(dim=1).abs(), 2 * values.square().cumsum(dim=1).sqrt())


def _may_be_best(rule: AdditiveRule, sample: Sample, cautious: Moments, known: Accumulator, context: Context) -> Tensor:
    """Candidates that may be the most certain expert somewhere: the sum rests on it, or it has a weight of its own."""
    best = _sum(rule, sample.exact, sample.dispersion, context).lead
    assert best is not None
    if known.lead is not None:
        best = choose(known.lead.precision > best.precision, known.lead, best)
    precision = _terms(rule, cautious, sample.dispersion, as_columns(context)).precision
    return (precision >= NEAR_LEAD * best.precision[:, None]).any(dim=0)
