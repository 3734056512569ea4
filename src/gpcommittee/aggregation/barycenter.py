"""Wasserstein barycenter of the experts (Cohen, Mbuvha, Marwala and Deisenroth, 2020), and its variance form.

The Gaussian that is nearest to all experts in the weighted mean of squared 2-Wasserstein distances. In one dimension:
mean = sum b_i mu_i,  sqrt(s) = sum b_i sqrt(s_i);  variance form: s = sum b_i s_i. Weights add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

from gpcommittee.aggregation.normalised import NormalisedRule
from gpcommittee.choices import check_choice

Spread = Literal["deviation", "variance"]


@dataclass(frozen=True)
class Barycenter(NormalisedRule):
    """Weighted average of the experts' means, and of their standard deviations or variances.

    Nowhere more certain than the most certain expert: agreement between experts is no evidence here.

    Parameters
    ----------
    level : {"latent", "observation"}, default="latent"
        Combine latent variances and add the noise last, or combine noisy variances.
    augmented : bool, default=True
        Experts that also know the communication rows, or experts that know their own rows only.
    weights : {"entropy", "softmax"}, default="entropy"
        Proportional to a power of the entropy an expert gains over the communication expert, or over the prior if
        ``augmented`` is false; or a softmax of its variance as a share of the prior variance.
    sharpness : float, optional
        The power, or what multiplies the share: 0 gives all experts the same weight, more and more leaves the most
        certain one alone. Default: 4 for entropy, 100 for softmax.
    spread : {"deviation", "variance"}, default="deviation"
        What is averaged: standard deviations, the barycenter; or variances, never below it.

    References
    ----------
    Cohen, Mbuvha, Marwala and Deisenroth (2020), "Healing products of Gaussian process experts", ICML.
    """

    spread: Spread = "deviation"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("Barycenter: spread", self.spread, get_args(Spread))

    def statistics(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        return variance if self.spread == "variance" else variance.sqrt(), mean

    def gaussian(self, precision: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        return shift, precision if self.spread == "variance" else precision.square()
