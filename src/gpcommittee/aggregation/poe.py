"""Products of experts (Eqs. 4 and 5 of the paper): no reference distribution.

PoE (Hinton, 2002): weight 1. Generalised PoE (Cao and Fleet, 2014): weight 1/M, or half the difference in
log variance between prior and expert.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from gpcommittee.aggregation.accumulator import Accumulator
from gpcommittee.aggregation.entropy import entropy_gain
from gpcommittee.aggregation.rule import AdditiveRule, Context, Experts, Reference
from gpcommittee.choices import check_choice

Weights = Literal["uniform", "entropy"]


@dataclass(frozen=True)
class PoE(AdditiveRule):
    """Product of experts: every expert has weight 1.

    Its variance vanishes as the number of experts grows (Propositions 1 and 2 of the paper).

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.

    References
    ----------
    Hinton (2002), "Training products of experts by minimizing contrastive divergence".
    """

    experts: ClassVar[Experts] = Experts.BASE
    reference: ClassVar[Reference] = Reference.NONE

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return torch.ones_like(variance)


@dataclass(frozen=True)
class GPoE(AdditiveRule):
    """Generalised product of experts.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.
    weights : {"uniform", "entropy"}, default="uniform"
        1/M, as the paper uses it, or the entropy an expert gains over the prior. Entropy weights are not normalised,
        as in the paper: far from the data all of them vanish and the variance grows without limit.

    References
    ----------
    Cao and Fleet (2014), "Generalized product of experts for automatic and principled fusion of Gaussian process
    predictions", arXiv:1410.7827.
    """

    experts: ClassVar[Experts] = Experts.BASE
    reference: ClassVar[Reference] = Reference.NONE

    weights: Weights = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("GPoE: weights", self.weights, get_args(Weights))

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        if self.weights == "uniform":
            return torch.ones_like(variance)
        gain = entropy_gain(variance, self.at_level(context.prior_variance, context))
        return gain.clamp_min(torch.finfo(variance.dtype).eps)

    def settle(self, total: Accumulator) -> Accumulator:
        if self.weights == "entropy":
            return total
        return total.divided_by(total.count)
