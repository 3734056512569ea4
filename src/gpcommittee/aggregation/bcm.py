"""Bayesian committee machines (Eqs. 4 and 6 of the paper): the prior is the reference.

BCM (Tresp, 2000): weight 1. Robust BCM (Deisenroth and Ng, 2015): the entropy an expert gains over the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gpcommittee.aggregation.entropy import entropy_gain
from gpcommittee.aggregation.rule import AdditiveRule, Context, Experts, Reference


@dataclass(frozen=True)
class BCM(AdditiveRule):
    """Bayesian committee machine: every expert has weight 1, corrected by the prior.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.

    References
    ----------
    Tresp (2000), "A Bayesian committee machine", Neural Computation 12(11).
    """

    experts: ClassVar[Experts] = Experts.BASE
    reference: ClassVar[Reference] = Reference.PRIOR

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return torch.ones_like(variance)


@dataclass(frozen=True)
class RBCM(AdditiveRule):
    """Robust Bayesian committee machine: weight 0.5 (log prior variance - log expert variance).

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.

    References
    ----------
    Deisenroth and Ng (2015), "Distributed Gaussian processes", ICML.
    """

    experts: ClassVar[Experts] = Experts.BASE
    reference: ClassVar[Reference] = Reference.PRIOR

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return entropy_gain(variance, self.at_level(context.prior_variance, context))
