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
    level : {"latent", "observation"}
        Makes no difference here: one expert is not combined with anything.
    """

    experts: ClassVar[Experts] = Experts.NONE
    reference: ClassVar[Reference] = Reference.COMMUNICATION

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return torch.zeros_like(variance)
