"""What a rule is, and the two functions that run any additive one: ``add`` one expert, ``finish`` the sum."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from gpcommittee.aggregation.accumulator import Accumulator, Term, averaged, merge, single
from gpcommittee.choices import check_choice
from gpcommittee.records import Moments

Level = Literal["observation", "latent"]


class Experts(Enum):
    """Which experts' moments a rule sums."""

    BASE = "base"
    AUGMENTED = "augmented"
    NONE = "none"


class Reference(Enum):
    """The distribution against which experts are weighed and which remains where they say nothing."""

    NONE = "none"
    PRIOR = "prior"
    COMMUNICATION = "communication"


@dataclass(frozen=True)
class Context:
    """What all rules share at a chunk of test points.

    Attributes
    ----------
    prior_variance : Tensor, shape (n_points,)
        Latent prior variance k(x, x).
    communication : Moments or None
        Moments of the communication expert, where a rule needs them.
    noise_variance : float
    own_variances : bool
        Whether experts have variances of their own. The reference's rows lie everywhere, and what they tell of the
        function says nothing of noise and signal at a point; so it has no part in the scales then.
    """

    prior_variance: Tensor
    communication: Moments | None
    noise_variance: float
    own_variances: bool = False


@dataclass(frozen=True)
class Distribution:
    """A Gaussian at the rule's level, the variance noisy or latent as the level says, its dispersion; shared noise."""

    mean: Tensor
    variance: Tensor
    dispersion: float


@dataclass(frozen=True)
class Aggregate:
    """What a rule makes of all experts, each of shape (n_points,).

    Attributes
    ----------
    mean : Tensor
    var_latent : Tensor
        Before calibration.
    dispersion : Tensor
        Calibrated variances, latent and noisy, are this many times the others.
    relative_noise : Tensor
        Noise variance there, in units of the shared one, before that.
    """

    mean: Tensor
    var_latent: Tensor
    dispersion: Tensor
    relative_noise: Tensor


@dataclass(frozen=True)
class Rule(ABC):
    """An aggregation rule: which experts' moments it takes, and against which reference."""

    @property
    @abstractmethod
    def experts(self) -> Experts:
        """Which experts' moments it takes; a class variable where all rules of a class take the same."""

    @property
    @abstractmethod
    def reference(self) -> Reference:
        """What remains where the experts say nothing; a class variable as above."""


@dataclass(frozen=True)
class AdditiveRule(Rule, ABC):
    """A rule that is a weighted sum or average over experts.

    Parameters
    ----------
    level : {"latent", "observation"}
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.
    """

    averages: ClassVar[bool] = False
    """Whether weights are normalised: to a sum of 1 over the experts at each test point."""

    level: Level = "latent"

    def __post_init__(self) -> None:
        check_choice(f"{type(self).__name__}: level", self.level, get_args(Level))

    @abstractmethod
    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        """Weight b_i of one expert; its logarithm, up to a constant, where weights are normalised.

        Parameters
        ----------
        variance : Tensor, shape (n_points,)
            The expert's variance at this rule's level.
        context : Context
        expert : int
            Number of the expert; 0 is the communication expert.

        Returns
        -------
        Tensor, shape (n_points,)
        """

    def statistics(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """What is summed or averaged of a Gaussian.

        Parameters
        ----------
        mean, variance : Tensor, shape (n_points,)
            At this rule's level.

        Returns
        -------
        precision, shift : Tensor, shape (n_points,)
            By default, precision and precision-weighted mean.
        """
        return 1 / variance, mean / variance

    def gaussian(self, precision: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of which ``statistics`` are given.

        Parameters
        ----------
        precision, shift : Tensor, shape (n_points,)

        Returns
        -------
        mean, variance : Tensor, shape (n_points,)
        """
        variance = 1 / precision
        return variance * shift, variance

    def settle(self, total: Accumulator) -> Accumulator:
        """Last word on the sum once every expert is in it.

        Parameters
        ----------
        total : Accumulator

        Returns
        -------
        Accumulator
        """
        return total

    def at_level(self, var_latent: Tensor, context: Context) -> Tensor:
        """A latent variance at this rule's level.

        Parameters
        ----------
        var_latent : Tensor, shape (n_points,)
        context : Context

        Returns
        -------
        Tensor, shape (n_points,)
            The same, or the noise variance added.
        """
        return var_latent + context.noise_variance if self.level == "observation" else var_latent


def add(rule: AdditiveRule, total: Accumulator, moments: Moments, context: Context, expert: int) -> Accumulator:
    """The sum with one more expert in it (Eqs. 4 and 14 of the paper, in excess form).

    Parameters
    ----------
    rule : AdditiveRule
    total : Accumulator
        Sum of the experts before this one.
    moments : Moments
        Of this expert, in the form that ``rule.experts`` names.
    context : Context
    expert : int
        Number of the expert; 0 is the communication expert.

    Returns
    -------
    Accumulator
    """
    term = _term(rule, moments, context, expert)
    return merge(total, averaged(term) if rule.averages else single(term))


def _term(rule: AdditiveRule, moments: Moments, context: Context, expert: int) -> Term:
    """One expert's contribution."""
    variance, prior = rule.at_level(moments.var_latent, context), rule.at_level(context.prior_variance, context)
    log_dispersion, log_noise = math.log(moments.dispersion), math.log(moments.relative_noise)
    weight = rule.weight(variance, context, expert)
    precision, shift = rule.statistics(moments.mean, variance)
    if rule.averages:
        share = 1 - variance / prior
        return Term(weight, precision, shift, log_dispersion * share, log_noise * share, torch.zeros_like(share))
    reference = reference_distribution(rule, context)
    if reference is None:
        added = precision - 1 / prior
    else:
        of_reference = rule.statistics(reference.mean, reference.variance)
        precision, shift = precision - of_reference[0], shift - of_reference[1]
        added = precision
    surplus = math.expm1(log_noise) * added
    counted = added + surplus
    return Term(weight, precision, shift, log_dispersion * counted, log_noise * counted, surplus)


def finish(rule: AdditiveRule, total: Accumulator, context: Context) -> Aggregate:
    """Aggregated mean and latent variance (Eqs. 4 and 14 of the paper), and the dispersion that calibrates them.

    Parameters
    ----------
    rule : AdditiveRule
    total : Accumulator
        Sum of all experts.
    context : Context

    Returns
    -------
    Aggregate
        At the observation level the latent variance is the aggregated noisy one less the noise; it is negative where
        the rule promises less than the noise.

    Notes
    -----
    Rules compare experts as if all had the same signal variance, and at the observation level the same noise: what an
    expert adds is what its rows tell, whatever the scale of the function and of the noise is where they lie. Scales are
    averaged beside it.
    """
    settled = rule.settle(total)
    precision, shift, log_dispersion, log_noise, surplus = settled.sums
    reference, prior = reference_distribution(rule, context), rule.at_level(context.prior_variance, context)
    added, excess = torch.zeros_like(prior), precision
    if reference is not None and not (rule.averages and total.count > 0):
        of_reference = rule.statistics(reference.mean, reference.variance)
        precision, shift = precision + of_reference[0], shift + of_reference[1]
        share = 1 - reference.variance / prior
        added = share if rule.averages else share / reference.variance
    mean, variance = rule.gaussian(precision, shift)
    alone = context.own_variances and reference is not None and total.count > 0
    if not alone and reference is not None:
        log_dispersion = log_dispersion + math.log(reference.dispersion) * added
    if not rule.averages:
        everything = 1 / prior + excess if alone else 1 / variance
        log_dispersion, log_noise = (value / (everything + surplus) for value in (log_dispersion, log_noise))
    latent = variance - context.noise_variance if rule.level == "observation" else variance
    return Aggregate(mean, latent, log_dispersion.exp(), log_noise.exp())


def reference_distribution(rule: AdditiveRule, context: Context) -> Distribution | None:
    """The rule's reference at its own level; None for rules without one."""
    if rule.reference is Reference.NONE:
        return None
    if rule.reference is Reference.PRIOR:
        prior = rule.at_level(context.prior_variance, context)
        return Distribution(torch.zeros_like(prior), prior, 1.0)
    communication = communication_moments(context)
    variance = rule.at_level(communication.var_latent, context)
    return Distribution(communication.mean, variance, communication.dispersion)


def communication_moments(context: Context) -> Moments:
    """The communication expert's moments, which rules with that reference require."""
    if context.communication is None:
        raise ValueError("This rule needs the communication expert's moments in its context.")
    return context.communication
