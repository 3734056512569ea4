"""Augmented experts: the communication rows and one expert's rows together, by the residual process.

The paper's enhanced expert M_+i (section 3.1) is the exact GP on D_c and D_i. With the communication expert factored
once (L_c, w_c, V_c = L_c^-1 K_c*), condition on it:
B = L_c^-1 K_ci, S = A_i - B' B = L L', w = L^-1 (y_i - B' w_c), U = L^-1 (K_i* - B' V_c),
mean = mean_c + U' w, latent variance = variance_c - colsum(U^2), never above the communication expert's. Rows are the
expert's rows and test points here: B', V_c' and U' are what is computed. A factor may be that of a batch of experts:
``gpcommittee.experts.together``.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gpcommittee.experts.base import BaseFactor, Projection, floor_variance, moments_as
from gpcommittee.experts.committee import Committee
from gpcommittee.linalg import (
    cholesky,
    row_sums_of_squares,
    solve_lower,
    subtract_gram,
    subtract_product,
    times_vector,
    whiten_rows,
)
from gpcommittee.padding import Padding
from gpcommittee.records import Moments
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class AugmentedFactor:
    """Factor of one expert's residual given the communication rows, or of a batch of b.

    Attributes
    ----------
    X : Tensor, shape (m, n_features) or (b, m, n_features)
    coupling : Tensor, shape (m, m_c) or (b, m, m_c)
        B', the cross-covariance whitened by the communication factor.
    lower : Tensor, shape (m, m) or (b, m, m)
        Cholesky factor of the residual covariance S.
    weights : Tensor, shape (m,) or (b, m)
        The residual target whitened by it.
    jitter : float
        Jitter the factor needed, as a share of the mean prior variance.
    padding : Padding or None
        Of a batch.
    dispersion : float
        By which variances are multiplied: the expert's own signal variance, and where asked for its mean squared
        standardised leave-one-out residual, given the communication rows; 1 without either.
    relative_noise : float
        Its own noise variance as a multiple of the shared one, in units of its own signal variance.
    """

    X: Tensor
    coupling: Tensor
    lower: Tensor
    weights: Tensor
    jitter: float
    padding: Padding | None = None
    dispersion: float = 1.0
    relative_noise: float = 1.0


def factor_augmented(committee: Committee, communication: BaseFactor, expert: int) -> AugmentedFactor:
    """Factor one augmented expert.

    Parameters
    ----------
    committee : Committee
    communication : BaseFactor
        Factor of the communication expert, whose precision the result takes.
    expert : int
        At least 1.

    Returns
    -------
    AugmentedFactor

    Raises
    ------
    NotPositiveDefiniteError
        If its residual covariance cannot be factored.
    """
    committee = committee.as_type(communication.lower.dtype)
    one = residual_of(committee, communication, expert, committee.noise_of(expert))
    lower, jitter = cholesky(one.covariance, f"residual covariance of expert {committee.number(expert)}", one.scale)
    weights = solve_lower(lower, one.target)
    return AugmentedFactor(one.X, one.coupling, lower, weights, jitter, relative_noise=committee.relative_noise(expert))


@dataclass(frozen=True)
class Residual:
    """What one expert's rows are about what the communication rows tell of them.

    Attributes
    ----------
    X : Tensor, shape (m, n_features)
    coupling : Tensor, shape (m, m_c)
        B'.
    covariance : Tensor, shape (m, m)
        S, its lower triangle alone valid.
    target : Tensor, shape (m,)
        y_i - B' w_c.
    scale : float
        Mean prior variance of an observation.
    """

    X: Tensor
    coupling: Tensor
    covariance: Tensor
    target: Tensor
    scale: float


def residual_of(committee: Committee, communication: BaseFactor, expert: int, noise_variance: float) -> Residual:
    """The residual process of one expert's rows.

    Parameters
    ----------
    committee : Committee
        In the communication factor's precision.
    communication : BaseFactor
    expert : int
        At least 1.
    noise_variance : float
        Of the expert's rows.

    Returns
    -------
    Residual
    """
    X, y = committee.block(expert)
    coupling = whiten_rows(communication.lower, committee.covariance(X, communication.X))
    noisy = committee.noisy_covariance(X, noise_variance)
    scale = noisy.diagonal().mean().item()
    return Residual(X, coupling, subtract_gram(noisy, coupling), y - coupling @ communication.weights, scale)


def whiten_residual(
    committee: Committee, factor: AugmentedFactor, communication: Tensor, x: Tensor, scratch: Scratch | None = None
) -> Tensor:
    """U' at test points, in the factor's precision.

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor
    communication : Tensor, shape (n_points, m_c)
        V_c', in the factor's precision.
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
    residual = subtract_product(covariance, communication, factor.coupling.mT)
    return whiten_rows(factor.lower, residual if factor.padding is None else factor.padding.clear(residual))


def augmented_moments(
    committee: Committee,
    factor: AugmentedFactor,
    communication: Projection,
    x: Tensor,
    prior_variance: Tensor,
    scratch: Scratch | None = None,
) -> Moments:
    """Posterior mean and latent variance of an augmented expert at test points (section 3.1 of the paper).

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor
    communication : Projection
        The communication expert's view of the same test points, in the factor's precision.
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    prior_variance : Tensor, shape (n_points,)
        Latent prior variance there.
    scratch : Scratch, optional
        Memory to use again from one expert to the next; not the one that holds the projection.

    Returns
    -------
    Moments
        Each of shape (n_points,), or (b, n_points) of a batch.
    """
    dtype = factor.lower.dtype
    whitened = whiten_residual(committee, factor, communication.whitened, x, scratch)
    variance = communication.moments.var_latent - row_sums_of_squares(whitened)
    mean = communication.moments.mean + times_vector(whitened, factor.weights)
    variance = floor_variance(variance, prior_variance.to(dtype))
    return moments_as(x.dtype, Moments(mean, variance, factor.dispersion, factor.relative_noise))
