"""Differential entropy gained from one Gaussian to a narrower one (the paper's weights, below Eq. 5 and in Eq. 15)."""

from __future__ import annotations

from torch import Tensor


def entropy_gain(variance: Tensor, reference_variance: Tensor) -> Tensor:
    """0.5 (log reference_variance - log variance), never negative, shape (n_points,)."""
    return (0.5 * (reference_variance.log() - variance.log())).clamp_min(0.0)
