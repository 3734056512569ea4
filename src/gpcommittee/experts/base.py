"""Base experts: the exact GP posterior on one expert's rows (Eq. 3 of the paper).

With L L' = A_i = K_i + s2 I and w = L^-1 y_i, at test points with V = L^-1 K_i*:
mean = V' w, latent variance = k** - colsum(V^2). Prior mean zero on standardised data. Test points are rows here: V' is
what is computed and kept. A factor may be that of a batch of experts: ``gpcommittee.experts.together``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpcommittee.experts.committee import Committee
from gpcommittee.linalg import (
    cholesky,
    row_sums_of_squares,
    solve_lower,
    solve_lower_transposed,
    times_vector,
    whiten_rows,
)
from gpcommittee.padding import Padding
from gpcommittee.records import Moments
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class BaseFactor:
    """Factor of one base expert, or of a batch of b.

    Attributes
    ----------
    X : Tensor, shape (m, n_features) or (b, m, n_features)
    lower : Tensor, shape (m, m) or (b, m, m)
        Cholesky factor of the noisy covariance.
    weights : Tensor, shape (m,) or (b, m)
        The target whitened by it.
    jitter : float
        Jitter the factor needed, as a share of the mean diagonal.
    padding : Padding or None
        Of a batch.
    dispersion : float
        By which variances are multiplied: the expert's own signal variance, and where asked for its mean squared
        standardised leave-one-out residual; 1 without either.
    relative_noise : float
        Its own noise variance as a multiple of the shared one, in units of its own signal variance.
    """

    X: Tensor
    lower: Tensor
    weights: Tensor
    jitter: float
    padding: Padding | None = None
    dispersion: float = 1.0
    relative_noise: float = 1.0


@dataclass(frozen=True)
class Projection:
    """An expert's view of a chunk of test points.

    Attributes
    ----------
    whitened : Tensor, shape (n_points, m), or (b, n_points, m) of a batch
        V' = (L^-1 K_i*)'.
    moments : Moments
        Its mean and latent variance there.
    """

    whitened: Tensor
    moments: Moments


def factor_base(committee: Committee, expert: int) -> BaseFactor:
    """Factor one base expert.

    Parameters
    ----------
    committee : Committee
    expert : int

    Returns
    -------
    BaseFactor

    Raises
    ------
    NotPositiveDefiniteError
        If its noisy covariance cannot be factored.
    """
    X, y = committee.block(expert)
    noisy = committee.noisy_covariance(X, committee.noise_of(expert))
    lower, jitter = cholesky(noisy, f"noisy covariance of expert {committee.number(expert)}")
    return BaseFactor(X, lower, solve_lower(lower, y), jitter, relative_noise=committee.relative_noise(expert))


def whiten(committee: Committee, factor: BaseFactor, x: Tensor, scratch: Scratch | None = None) -> Tensor:
    """V' at test points, in the factor's precision.

    Parameters
    ----------
    committee : Committee
    factor : BaseFactor
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    scratch : Scratch, optional
        May hold the result.

    Returns
    -------
    Tensor, shape (n_points, m), or (b, n_points, m) of a batch
    """
    dtype = factor.lower.dtype
    covariance = committee.as_type(dtype).covariance(x.to(dtype), factor.X, scratch)
    return whiten_rows(factor.lower, covariance if factor.padding is None else factor.padding.clear(covariance))


def project(
    committee: Committee, factor: BaseFactor, x: Tensor, prior_variance: Tensor, scratch: Scratch | None = None
) -> Projection:
    """Whitened cross-covariance and moments of a base expert at test points (Eq. 3 of the paper).

    Parameters
    ----------
    committee : Committee
    factor : BaseFactor
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    prior_variance : Tensor, shape (n_points,)
        Latent prior variance there.
    scratch : Scratch, optional
        May hold the whitened covariance.

    Returns
    -------
    Projection
        In the factor's precision, which may be higher than the committee's.
    """
    prior_variance = prior_variance.to(factor.lower.dtype)
    whitened = whiten(committee, factor, x, scratch)
    variance = floor_variance(prior_variance - row_sums_of_squares(whitened), prior_variance)
    mean = times_vector(whitened, factor.weights)
    return Projection(whitened, Moments(mean, variance, factor.dispersion, factor.relative_noise))


def base_moments(
    committee: Committee, factor: BaseFactor, x: Tensor, prior_variance: Tensor, scratch: Scratch | None = None
) -> Moments:
    """Posterior mean and latent variance of a base expert at test points (Eq. 3 of the paper).

    Parameters
    ----------
    committee : Committee
    factor : BaseFactor
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    prior_variance : Tensor, shape (n_points,)
        Latent prior variance there.
    scratch : Scratch, optional
        Memory to use again from one expert to the next.

    Returns
    -------
    Moments
    """
    return moments_as(x.dtype, project(committee, factor, x, prior_variance, scratch).moments)


def base_mean(committee: Committee, factor: BaseFactor, x: Tensor) -> Tensor:
    """Posterior mean alone (Eq. 3a of the paper): one product, no triangular solve per test point.

    Parameters
    ----------
    committee : Committee
    factor : BaseFactor
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.

    Returns
    -------
    Tensor, shape (n_points,)
        In standardised units.
    """
    dtype = factor.lower.dtype
    weights = solve_lower_transposed(factor.lower, factor.weights)
    return (committee.as_type(dtype).covariance(x.to(dtype), factor.X) @ weights).to(x.dtype)


def moments_as(dtype: torch.dtype, moments: Moments) -> Moments:
    """The same moments in another precision."""
    return replace(moments, mean=moments.mean.to(dtype), var_latent=moments.var_latent.to(dtype))


def floor_variance(variance: Tensor, prior_variance: Tensor) -> Tensor:
    """Keep a variance that rounding made zero or negative at the rounding error of the prior variance."""
    return torch.maximum(variance, torch.finfo(variance.dtype).eps * prior_variance)
