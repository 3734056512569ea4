"""Weights that add up to 1 over the experts at each test point, and the generalised product with such weights.

Cohen, Mbuvha, Marwala and Deisenroth (2020). With s_i the expert's variance at the rule's level:
softmax  b_i ~ exp(-a s_i / s**)           (their tempered softmax of the variance, in units of the prior's)
entropy  b_i ~ (0.5 log(s_ref / s_i))^a    (s_ref of the communication expert, or of the prior for base experts)
Far from the data all experts are alike, so are their weights, and the reference or prior remains. Prior mean zero;
expert order does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from gpcommittee.aggregation.entropy import entropy_gain
from gpcommittee.aggregation.form import EitherForm
from gpcommittee.aggregation.rule import Context, reference_distribution
from gpcommittee.choices import check_choice
from gpcommittee.errors import InvalidParameterError

NormalisedWeights = Literal["entropy", "softmax"]

SHARPNESS: dict[NormalisedWeights, float] = {"entropy": 4.0, "softmax": 100.0}
"""Default sharpness of each kind of weights."""

SHARPEST = 1e6
"""Beyond it the most certain expert is alone in all but name, and the exponent of a weight exceeds float32."""


@dataclass(frozen=True)
class NormalisedRule(EitherForm):
    """A rule that averages over the experts.

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
    """

    averages: ClassVar[bool] = True

    weights: NormalisedWeights = "entropy"
    sharpness: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        check_choice(f"{name}: weights", self.weights, get_args(NormalisedWeights))
        if self.sharpness is not None and not 0 <= self.sharpness <= SHARPEST:
            raise InvalidParameterError(
                f"{name}: sharpness must be a number from 0 to {SHARPEST:g}, got {self.sharpness!r}; "
                "the most certain expert alone is the rule MostCertain."
            )

    def weight(self, variance: Tensor, context: Context, expert: int) -> Tensor:
        """Logarithm of the weight, 0 for an expert that knows nothing: rounding then leaves such experts alike."""
        sharpness = SHARPNESS[self.weights] if self.sharpness is None else self.sharpness
        prior = self.at_level(context.prior_variance, context)
        if self.weights == "softmax":
            return sharpness * (1 - variance / prior)
        reference = reference_distribution(self, context)
        gain = entropy_gain(variance, prior if reference is None else reference.variance)
        least = torch.finfo(variance.dtype).eps
        return sharpness * (gain.clamp_min(least) / least).log()


@dataclass(frozen=True)
class NormalisedGPoE(NormalisedRule):
    """Generalised product of experts with weights that add up to 1.

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

    References
    ----------
    Cohen, Mbuvha, Marwala and Deisenroth (2020), "Healing products of Gaussian process experts", ICML.
    """
