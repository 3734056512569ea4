"""Factors and posterior moments of single experts, and the committee that holds them."""

from gpcommittee.experts.augmented import AugmentedFactor, augmented_moments, factor_augmented
from gpcommittee.experts.base import (
    BaseFactor,
    Projection,
    base_mean,
    base_moments,
    factor_base,
    moments_as,
    project,
    whiten,
)
from gpcommittee.experts.committee import Committee
from gpcommittee.experts.leave_one_out import dispersion
from gpcommittee.experts.own_variances import own_variances
from gpcommittee.experts.together import (
    factor_augmented_together,
    factor_base_together,
    stack_augmented,
    stack_base,
)

__all__ = [
    "AugmentedFactor",
    "BaseFactor",
    "Committee",
    "Projection",
    "augmented_moments",
    "base_mean",
    "base_moments",
    "dispersion",
    "factor_augmented",
    "factor_augmented_together",
    "factor_base",
    "factor_base_together",
    "moments_as",
    "own_variances",
    "project",
    "stack_augmented",
    "stack_base",
    "whiten",
]
