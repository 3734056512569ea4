"""Which experts are settled at a node: left out, or taken from its pivots.

Every candidate's moments are known exactly at the sample of the node's points, and with them the whole sum there. What
leaving an expert out, or taking it from the pivots, changes at the sample is a number; experts are settled from the
smallest change while all of it together stays within an allowance. Between the points of the sample an expert may know
more than at them, the more so the more the pivots leave of the variance: ``HIDDEN`` and ``SAFETY`` say how much is
reckoned with.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, Aggregate, Context, Term, finish, merge
from gpcommittee.aggregation.accumulator import at_points, choose
from gpcommittee.aggregation.rule import term_of
from gpcommittee.prediction.node import Sample
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
        Not rough, with the moments of all candidates.
    noise_variance : float
    allowance : float
        What those left out may change together, and those taken from the pivots: the mean in predicted noisy standard
        deviations, the variance at the rule's level relative to it.

    Returns
    -------
    Settled
    """
    context = sample.sample.context(rule, noise_variance)
    columns, log_dispersion = as_columns(context), sample.dispersion.log()

    def terms(moments: Moments) -> Term:
        return term_of(rule, moments.mean, moments.var_latent, log_dispersion, 0.0, columns, -1)

    known = at_points(sample.node.total, sample.numbers)
    exact = terms(sample.exact)
    candidates = _sum(exact)
    outcome = finish(rule, merge(known, candidates), context)
    cautious = terms(_cautious(sample.exact, sample.sample.reference, (1 + HIDDEN * sample.left) * sample.largest))
    free = ~_may_be_best(cautious, known.lead, candidates.lead)
    for expert in always_needed(rule):
        free[torch.from_numpy(sample.node.experts == expert)] = False
    left_out = _smallest(_changes(rule, cautious, outcome, context), free, allowance)
    said = _changes(rule, exact, outcome, context)
    taken = _changes(rule, terms(_from_pivots(sample)), outcome, context)
    errors = Changes(taken.precision - said.precision, taken.mean - said.mean, taken.dispersion - said.dispersion)
    return Settled(left_out, _smallest(errors, free & ~left_out, allowance))


def _from_pivots(sample: Sample) -> Moments:
    """What experts taken from the pivots may say at points like those of the sample, but between them.

    Without checks the pivots leave nothing. Of the variance that the pivots leave at a check they miss a share, of its
    root their mean is off by a share. Both are taken to be as large, of the most that the pivots leave, wherever an
    expert says what it says at the sample. Checks need not be near what an expert knows: of what the pivots leave it is
    taken to know as much as of any sum of the values at them, and to move it as far as one of these.
    """
    reference = sample.sample.reference
    checks = slice(sample.n_pivots, None)
    if len(sample.rest) == 0:
        return sample.exact
    rest = sample.rest[:, None].clamp_min(torch.finfo(sample.rest.dtype).tiny)
    missed = ((sample.between.var_latent - sample.exact.var_latent[checks]).abs() / rest).amax(dim=0)
    moved = ((sample.between.mean - sample.exact.mean[checks]).abs() / rest.sqrt()).amax(dim=0)
    missed = torch.maximum(SAFETY * missed, sample.largest)
    moved = torch.maximum(SAFETY * torch.maximum(moved, sample.shift), sample.largest.sqrt())
    left = sample.left * reference.var_latent[:, None]
    variance = torch.minimum(sample.exact.var_latent + missed * left, reference.var_latent[:, None])
    return Moments(sample.exact.mean + moved * left.sqrt(), variance)


def _sum(term: Term) -> Accumulator:
    """The sum of all experts, from terms of shape (n_points, n_experts)."""
    lead = term.precision.argmax(dim=1, keepdim=True)
    best = Term(*(values.gather(1, lead)[:, 0] for values in term.values))
    sums = ((term.weight * values).sum(dim=1) for values in term.summed)
    return Accumulator.of(term.weight.shape[1], sums, best)


def _cautious(moments: Moments, reference: Moments, share: Tensor) -> Moments:
    """Moments of experts that take away such shares of the variance everywhere."""
    variance, mean = reference.var_latent[:, None], reference.mean[:, None]
    gain = (variance - moments.var_latent).clamp_min(0.0)
    more = torch.maximum(gain, torch.minimum(share, 1 - share.new_tensor(torch.finfo(share.dtype).eps)) * variance)
    larger = (more / gain.clamp_min(torch.finfo(gain.dtype).tiny)).sqrt()
    return Moments(mean + larger * (moments.mean - mean), variance - more)


def _changes(rule: AdditiveRule, term: Term, outcome: Aggregate, context: Context) -> Changes:
    """What experts with such terms change at the sample."""
    mean, log_dispersion = outcome.mean[:, None], outcome.dispersion.log()[:, None]
    share = term.weight * rule.at_level(outcome.var_latent, context)[:, None]
    unit = (outcome.var_latent + context.noise_variance).sqrt()[:, None]
    return Changes(
        share * term.precision,
        share * (term.shift - mean * term.precision) / unit,
        share * (term.dispersion - term.precision * log_dispersion),
    )


def _smallest(changes: Changes, free: Tensor, allowance: float) -> Tensor:
    """As many of the free experts as change less than the allowance together, from the smallest.

    Changes of the same sign add up; those of random sign, in quadrature.
    """
    found = torch.zeros_like(free)
    numbers = free.nonzero()[:, 0]
    if len(numbers) == 0:
        return found
    measures = torch.cat([changes.precision, changes.mean, changes.dispersion])[:, numbers]
    order = measures.abs().amax(dim=0).argsort(stable=True)
    within = (_together(measures[:, order]).amax(dim=0) <= allowance).cumprod(dim=0).bool()
    order = numbers[order]
    found[order[within]] = True
    return found


def _together(values: Tensor) -> Tensor:
    return torch.maximum(values.cumsum(dim=1).abs(), 2 * values.square().cumsum(dim=1).sqrt())


def _may_be_best(cautious: Term, known: Term | None, best: Term | None) -> Tensor:
    """Candidates that may be the most certain expert somewhere: the sum rests on it, or it has a weight of its own."""
    assert best is not None
    if known is not None:
        best = choose(known.precision > best.precision, known, best)
    return (cautious.precision >= NEAR_LEAD * best.precision[:, None]).any(dim=0)
