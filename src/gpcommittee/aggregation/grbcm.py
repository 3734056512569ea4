"""Generalised robust Bayesian committee machine (Eqs. 12 to 15 of the paper).

RBCM on the residual process given the communication rows: augmented experts M_+i, reference M_c, weights
0.5 (log s_c - log s_+i), and weight 1 to one expert, for which the factorisation of Eq. 12 is exact.
Augmented experts in order; expert 1 is the paper's M_+2, whose weight Eq. 15 sets to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from gpcommittee.aggregation.accumulator import Accumulator
from gpcommittee.aggregation.entropy import entropy_gain
from gpcommittee.aggregation.rule import AdditiveRule, Context, Experts, Reference, communication_moments
from gpcommittee.choices import check_choice

Lead = Literal["first", "best"] | None


@dataclass(frozen=True)
class GRBCM(AdditiveRule):
    """Generalised robust Bayesian committee machine.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances as the paper does.
    lead : {"best", "first", None}, default="best"
        Which augmented expert has weight 1: the most certain one at each test point, the first one everywhere (the
        paper's beta_2 = 1), or none. Any choice of one expert makes a committee of two sets the exact GP.

    References
    ----------
    Liu, Cai, Wang and Ong (2018), "Generalized robust Bayesian committee machine for large-scale Gaussian process
    regression", ICML.
    """

    experts: ClassVar[Experts] = Experts.AUGMENTED
    reference: ClassVar[Reference] = Reference.COMMUNICATION

    lead: Lead = "best"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("GRBCM: lead", self.lead, ("first", "best", None))

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        if self.lead == "first" and expert == 1:
            return torch.ones_like(variance)
        return entropy_gain(variance, self.at_level(communication_moments(context).var_latent, context))

    def settle(self, total: Accumulator) -> Accumulator:
        lead = total.lead
        if self.lead != "best" or lead is None:
            return total
        return total.plus(1 - lead.weight, lead)
