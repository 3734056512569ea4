"""The communication expert alone: the exact GP on the communication rows, the reference of GRBCM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gpcommittee.aggregation.rule import AdditiveRule, Context, Experts, Reference


@dataclass(frozen=True)
class Communication(AdditiveRule):
    """The communication expert M_c alone.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Makes no difference here: one expert is not combined with anything.

    References
    ----------
    Liu, Cai, Wang and Ong (2018), section 3.1 (M_c). Chalupka, Williams and Murray (2013), "A framework for evaluating
    approximation methods for Gaussian process regression", JMLR 14, as the subset-of-data baseline.
    """

    experts: ClassVar[Experts] = Experts.NONE
    reference: ClassVar[Reference] = Reference.COMMUNICATION

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return torch.zeros_like(variance)
