"""Which experts a test point can do without.

Per point the experts are ordered by what they could change, and left out from the least while all that is left out
together changes mean and variance by less than allowed. With v the variance of an expert at the rule's level, v_ref the
reference's and b its weight, leaving it out changes the precision by b (1/v - 1/v_ref) and the precision-weighted mean
by b d / v + b (1/v - 1/v_ref) (mu_ref - mu), d its mean less the reference's. Under the model d has the variance that
the expert takes away, and the d of different experts are what their own noise makes of them: they add up in quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, Context, Rule, add, empty, finish
from gpcommittee.experts import BaseFactor
from gpcommittee.records import Moments

CAUTION = 100.0
"""Times the estimated gain that an expert is taken to have."""

CAUTION_AT_PIVOTS = 1000.0
"""The same for points around those at which gains are estimated."""

OVERLOOKED = 0.1
"""Share of the tolerance for experts that are no candidates."""

LEAST_VARIANCE = 0.01
"""Share of the reference's variance that an expert with the largest gain is taken to leave, or the best one's."""

DEVIATIONS = 4.0
"""Standard deviations of an expert's mean from the reference's that are reckoned with."""


@dataclass(frozen=True)
class Known:
    """What is known at test points before the choice.

    Attributes
    ----------
    reference : Moments
    best : Moments
        Of the expert with the largest estimated gain; the reference's where there is none.
    context : Context
    misfit : float
        Size of standardised residuals, 1 where the data are as the kernel says.
    """

    reference: Moments
    best: Moments
    context: Context
    misfit: float


def selectable(rule: Rule) -> bool:
    """Whether a rule's experts fade into its reference, so that some can be left out."""
    return isinstance(rule, BCM | RBCM | GRBCM)


def largest_variance(rule: AdditiveRule, known: Known) -> Tensor:
    """Aggregated variance at the rule's level that all experts together cannot exceed, shape (n_points,)."""
    alone = finish(rule, add(rule, empty(known.context.prior_variance), known.best, known.context, -1), known.context)
    return torch.minimum(rule.at_level(alone.var_latent, known.context), reference_variance(rule, known))


def reference_variance(rule: AdditiveRule, known: Known) -> Tensor:
    """The reference's variance at the rule's level, shape (n_points,)."""
    return rule.at_level(known.reference.var_latent, known.context)


def needed(rule: AdditiveRule, gains: Tensor, known: Known, tolerance: float, caution: float = CAUTION) -> Tensor:
    """Which experts are needed at which points.

    Parameters
    ----------
    rule : AdditiveRule
    gains : Tensor, shape (n_points, n_experts)
        Estimated gains in latent variance.
    known : Known
    tolerance : float
        What all experts left out may change together: the mean in predicted noisy standard deviations, the variance at
        the rule's level relative to it.
    caution : float
        Times the estimated gain that an expert is taken to have.

    Returns
    -------
    Tensor of bool, shape (n_points, n_experts)
    """
    change = _changes(rule, gains, known, caution)
    return ~_small_together(change, tolerance) | _may_lead(rule, gains, known, tolerance, caution)


@dataclass(frozen=True)
class _Changes:
    """What experts may change.

    Attributes
    ----------
    precision : Tensor, shape (n_points, n_experts)
        Relative change of the aggregated precision.
    spread : Tensor, shape (n_points, n_experts)
        Change of the mean by the expert's own noise, in predicted standard deviations.
    moved : Tensor, shape (n_points, 1)
        Change of the mean per relative change of the precision, in predicted standard deviations.
    """

    precision: Tensor
    spread: Tensor
    moved: Tensor


def _changes(rule: AdditiveRule, gains: Tensor, known: Known, caution: float) -> _Changes:
    reference = known.reference.var_latent[:, None]
    least = torch.minimum(known.best.var_latent[:, None], LEAST_VARIANCE * reference)
    gain = torch.minimum(caution * gains, reference - least)
    context = as_columns(known.context)
    variance = rule.at_level(reference - gain, context)
    weight = rule.weight(variance, context, -1)
    total = largest_variance(rule, known)[:, None]
    unit = _unit(rule, known)
    precision = weight * gain / (variance * rule.at_level(reference, context)) * total
    moved = (known.best.mean - known.reference.mean).abs()[:, None] / unit
    return _Changes(precision, known.misfit * DEVIATIONS * weight * gain.sqrt() / variance * total / unit, moved)


def _unit(rule: AdditiveRule, known: Known) -> Tensor:
    """Predicted standard deviation of an observation, at most, shape (n_points, 1)."""
    total = largest_variance(rule, known)[:, None]
    return (total + known.context.noise_variance).sqrt() if rule.level == "latent" else total.sqrt()


def _small_together(change: _Changes, tolerance: float) -> Tensor:
    """The least of each point's experts, as many as change less than the tolerance together."""
    score = torch.maximum(change.precision * change.moved.clamp_min(1.0), change.spread)
    order = score.argsort(dim=1, stable=True)
    precision = change.precision.gather(1, order).cumsum(dim=1)
    spread = change.spread.gather(1, order).square().cumsum(dim=1).sqrt()
    small = torch.maximum(precision, spread + precision * change.moved) <= tolerance
    return torch.empty_like(small).scatter_(1, order, small)


def candidates(
    rule: AdditiveRule, gains: Tensor, reference: Moments, context: Context, misfit: float, tolerance: float
) -> Tensor:
    """Experts that may matter anywhere near a sample of points, by their estimated gains there.

    Parameters
    ----------
    rule : AdditiveRule
    gains : Tensor, shape (n_points, n_experts)
        Estimated gains in latent variance at points that explain those around them.
    reference : Moments
    context : Context
    misfit : float
    tolerance : float

    Returns
    -------
    Tensor of bool, shape (n_experts,)
    """
    best = Moments(reference.mean, reference.var_latent - OVERLOOKED * gains.amax(dim=1).minimum(reference.var_latent))
    known = Known(reference, best, context, misfit)
    found: Tensor = needed(rule, gains, known, OVERLOOKED * tolerance, CAUTION_AT_PIVOTS).any(dim=0)
    return found


def _may_lead(rule: AdditiveRule, gains: Tensor, known: Known, tolerance: float, caution: float) -> Tensor:
    """Experts that may be the most certain one where that one has weight 1, unless even then it would not matter."""
    if not leads_best(rule):
        return torch.zeros_like(gains, dtype=torch.bool)
    reference = known.reference.var_latent[:, None]
    best = (reference - known.best.var_latent[:, None]).clamp_min(0.0)
    gain = caution * gains
    matters = torch.maximum(known.misfit * DEVIATIONS * gain.sqrt() / _unit(rule, known), gain / reference) > tolerance
    return matters & (gain > best)


def misfit(communication: BaseFactor) -> float:
    """Root mean square of the communication expert's standardised residuals, at least 1."""
    return max(1.0, float(communication.weights.square().mean().sqrt()))


def leads_best(rule: Rule) -> bool:
    """Whether the most certain expert has a weight of its own at every point."""
    return isinstance(rule, GRBCM) and rule.lead == "best"


def always_needed(rule: Rule) -> tuple[int, ...]:
    """Experts with a weight of their own everywhere."""
    return (1,) if isinstance(rule, GRBCM) and rule.lead == "first" else ()


def as_columns(context: Context) -> Context:
    """A context that goes with arrays of points x experts."""
    communication = context.communication
    return replace(
        context,
        prior_variance=context.prior_variance[:, None],
        communication=None
        if communication is None
        else replace(communication, mean=communication.mean[:, None], var_latent=communication.var_latent[:, None]),
    )
