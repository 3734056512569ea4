"""The most certain expert alone (minimum variance): at each test point, the one that knows most about it.

The limit of softmax weights (Cohen et al., 2020, section 3) at ever larger sharpness. Of equally certain experts the
first one speaks; expert order does not matter otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.aggregation.accumulator import Accumulator, single
from gpcommittee.aggregation.form import EitherForm
from gpcommittee.aggregation.rule import Context


@dataclass(frozen=True)
class MostCertain(EitherForm):
    """The expert with the least variance at each test point, alone.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Makes no difference here: one expert is not combined with anything.
    augmented : bool, default=True
        Experts that also know the communication rows, or experts that know their own rows only.

    References
    ----------
    Cohen, Mbuvha, Marwala and Deisenroth (2020), "Healing products of Gaussian process experts", ICML, for the softmax
    weights of which this is the limit.
    """

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        return torch.ones_like(variance)

    def settle(self, total: Accumulator) -> Accumulator:
        return total if total.lead is None else single(total.lead)
