"""Nested pointwise aggregation of experts (Eqs. 7 and 8 of the paper; Rulliere et al., 2018).

The experts' means are random variables whose covariances with each other, K_A, and with the target, k_A, are known:
the aggregated mean is the best linear predictor from them, mean = k_A' K_A^-1 mu, variance = k** - k_A' K_A^-1 k_A.
Prior mean zero, latent variances; expert order does not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from gpcommittee.aggregation.rule import Experts, Reference, Rule
from gpcommittee.errors import InvalidParameterError, NotPositiveDefiniteError
from gpcommittee.linalg import LADDER
from gpcommittee.records import Moments


@dataclass(frozen=True)
class NPAE(Rule):
    """Nested pointwise aggregation of experts.

    Consistent, never less certain than the best expert and never more than the exact process, at a cost of the square
    of the number of rows per test point.

    Parameters
    ----------
    jitter : float
        Added to the diagonal of K_A, in units of the target's variance; the paper's code adds 1e-10. Where K_A is
        singular without it, the least relative jitter that works is added in any case.

    References
    ----------
    Rulliere, Durrande, Bachoc and Chevalier (2018), "Nested Kriging predictions for datasets with a large number of
    observations", Statistics and Computing 28(4).
    """

    experts: ClassVar[Experts] = Experts.BASE
    reference: ClassVar[Reference] = Reference.NONE

    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.jitter < math.inf:
            raise InvalidParameterError(f"NPAE: jitter must be a finite number of at least 0, got {self.jitter!r}.")


def combine(rule: NPAE, means: Tensor, covariance: Tensor, prior_variance: Tensor) -> tuple[Moments, Tensor]:
    """Best linear prediction from the experts' means at each test point (Eq. 8).

    Parameters
    ----------
    rule : NPAE
    means : Tensor, shape (n_points, n_experts)
    covariance : Tensor, shape (n_points, n_experts, n_experts)
        K_A (Eq. 7); its diagonal is also k_A.
    prior_variance : Tensor, shape (n_points,)

    Returns
    -------
    moments : Moments
        Mean and latent variance, in float64: K_A is close to singular where experts agree.
    weights : Tensor, shape (n_points, n_experts)
        K_A^-1 k_A: the weight of each expert's mean.

    Raises
    ------
    NotPositiveDefiniteError
        If K_A holds NaN or infinity at some point.
    """
    rounding = torch.finfo(covariance.dtype).eps
    means, covariance, prior_variance = means.double(), covariance.double(), prior_variance.double()
    with_target = covariance.diagonal(dim1=1, dim2=2)
    scale = (with_target + rule.jitter).clamp_min(torch.finfo(means.dtype).tiny).sqrt()
    correlation = covariance / scale[:, :, None] / scale[:, None, :]
    correlation.diagonal(dim1=1, dim2=2).fill_(1.0)
    factor = _batched_cholesky(correlation, rounding)
    scaled = (with_target / scale)[:, :, None]
    whitened = torch.linalg.solve_triangular(factor, scaled, upper=False)
    weights = torch.linalg.solve_triangular(factor.mT, whitened, upper=True)[:, :, 0] / scale
    variance = prior_variance - whitened.square().sum(dim=(1, 2))
    floor = torch.finfo(means.dtype).eps * prior_variance
    return Moments((weights * means).sum(dim=1), torch.maximum(variance, floor)), weights


def _batched_cholesky(correlation: Tensor, rounding: float) -> Tensor:
    """Cholesky factors of matrices with unit diagonal, each with the least jitter of the ladder that works.

    Entries are good to ``rounding``, of which the ladder counts multiples.
    """
    factor: Tensor
    factor, info = torch.linalg.cholesky_ex(correlation)
    for step in LADDER:
        failed = info > 0
        if not bool(failed.any()):
            return factor
        shifted = correlation[failed]
        shifted.diagonal(dim1=1, dim2=2).add_(step * rounding)
        factor[failed], info[failed] = torch.linalg.cholesky_ex(shifted)
    if bool((info > 0).any()):
        raise NotPositiveDefiniteError(
            f"The covariance of the experts' means cannot be factored at {int((info > 0).sum())} test points; "
            "pass NPAE(jitter=1e-10) or use fewer experts."
        )
    return factor
