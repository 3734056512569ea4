"""What it may change that an expert is known only nearly, or not at all.

With v the variance of an expert at the rule's level, v_ref the reference's, b its weight and d the shift of its mean
against the reference's, it adds b (1/v - 1/v_ref) to the precision and b d / v to the precision-weighted mean. Between
the gain in variance that it is said to have and the largest that it may have these two grow; a shift that is off moves
the second in proportion. An expert of which nothing is said is one without gain and shift, off by all that it may know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import AdditiveRule, Aggregate, Context
from gpcommittee.prediction.reference_view import ReferenceView
from gpcommittee.prediction.tolerance.by_distance import StepArray
from gpcommittee.prediction.tolerance.compression import Largest
from gpcommittee.records import FloatArray, Moments

SIGMAS = 2.0
"""Root mean squares of a sum of many errors, none larger than assumed, that are reckoned with."""

LEAST = 1e-12
"""Share of its variance that an expert leaves at least."""


@dataclass(frozen=True)
class Doubt:
    """What experts may add beside what is said, each of shape (n_points, n_experts).

    Attributes
    ----------
    precision : Tensor
    shift : Tensor
        Precision-weighted mean.
    """

    precision: Tensor
    shift: Tensor


def doubt(
    rule: AdditiveRule,
    context: Context,
    reference: Tensor,
    said: tuple[Tensor, Tensor],
    errors: tuple[Tensor, Tensor],
    weight: float | None = None,
) -> Doubt:
    """What experts may add beside what is said.

    Parameters
    ----------
    rule : AdditiveRule
    context : Context
        Of columns.
    reference : Tensor, shape (n_points, 1)
        Latent variance of the reference.
    said : tuple of Tensor, shape (n_points, n_experts)
        Gain in latent variance, and shift of the mean.
    errors : tuple of Tensor, shape (n_points, n_experts)
        Of both, finite.
    weight : float, optional
        In place of the rule's.

    Returns
    -------
    Doubt
    """
    gain, shift = said
    of_reference = rule.at_level(reference, context)

    def added(gain: Tensor) -> tuple[Tensor, Tensor]:
        variance = rule.at_level(reference - torch.minimum(gain, (1 - LEAST) * reference), context)
        weighted = (rule.weight(variance, context, -1) if weight is None else weight) / variance
        return weighted * (of_reference - variance) / of_reference, weighted

    (precision, weighted), (most, most_weighted) = added(gain), added(gain + errors[0])
    return Doubt(most - precision, most_weighted * errors[1] + (most_weighted - weighted) * shift.abs())


@dataclass(frozen=True)
class Extent:
    """What experts may add that are left out, by distance, for a reference of variance 1.

    Attributes
    ----------
    precision, shift : ndarray, shape (n_experts, N_STEPS)
        At most, whatever the level. Infinite where an expert is not known.
    """

    precision: FloatArray
    shift: FloatArray

    @classmethod
    def of(cls, rule: AdditiveRule, known: Largest) -> Extent:
        """Of experts that say so much at most.

        At the level of observations all variances are larger by the noise, and it is less.
        """
        gain, shift = torch.from_numpy(known.gain), torch.from_numpy(known.shift)
        one, nothing = torch.ones(1, dtype=torch.float64), torch.zeros_like(gain)
        context = Context(one, Moments(0 * one, one), 0.0)
        found = doubt(replace(rule, level="latent"), context, one, (nothing, nothing), (gain, shift))
        finite = np.isfinite(known.gain)
        return cls(np.where(finite, found.precision, np.inf), np.where(finite, found.shift, np.inf))

    def at(self, steps: StepArray) -> tuple[FloatArray, FloatArray]:
        """At one distance of each expert."""
        experts = np.arange(len(steps))
        return self.precision[experts, steps], self.shift[experts, steps]


@dataclass(frozen=True)
class Measure:
    """By how much what is added changes the outcome, each of shape (n_points,).

    Attributes
    ----------
    variance : Tensor
        Aggregated variance at the rule's level: relative change of the precision per change of it.
    mean : Tensor
        Change of the mean, in predicted standard deviations of an observation, per change of the weighted mean.
    moved : Tensor
        The same per change of the precision.
    scale : Tensor
        Relative change of the calibrated variance per relative change of the precision, per dispersion of an expert.
    """

    variance: Tensor
    mean: Tensor
    moved: Tensor
    scale: Tensor

    @classmethod
    def of(cls, rule: AdditiveRule, points: ReferenceView, outcome: Aggregate, context: Context) -> Measure:
        """From an aggregate of some of the experts: the others can only make its variance smaller."""
        variance = rule.at_level(outcome.var_latent, context)
        mean = variance / (outcome.var_latent + context.noise_variance).sqrt()
        distance = torch.maximum((outcome.mean - points.reference.mean).abs(), points.reference.var_latent.sqrt())
        return cls(variance, mean, mean * distance, 1 + outcome.dispersion.log().abs())

    def changes(self, doubts: Doubt, dispersion: Tensor) -> Tensor:
        """The largest change of mean, variance and scale that each expert may make, shape (n_points, n_experts).

        Parameters
        ----------
        doubts : Doubt
        dispersion : Tensor, shape (n_experts,)
            1 and the size of the logarithm of each dispersion.
        """
        of_mean = doubts.shift * self.mean[:, None] + doubts.precision * self.moved[:, None]
        of_variance = doubts.precision * dispersion * (self.variance * self.scale)[:, None]
        return torch.maximum(of_mean, of_variance)
