"""Augmented experts: the communication rows and one expert's rows together, by the residual process.

The paper's enhanced expert M_+i (section 3.1) is the exact GP on D_c and D_i. With the communication expert factored
once (L_c, w_c, V_c = L_c^-1 K_c*), condition on it:
B = L_c^-1 K_ci, S = A_i - B' B = L L', w = L^-1 (y_i - B' w_c), U = L^-1 (K_i* - B' V_c),
mean = mean_c + U' w, latent variance = variance_c - colsum(U^2), never above the communication expert's.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from gpcommittee.experts.base import BaseFactor, Projection, floor_variance
from gpcommittee.experts.committee import Committee
from gpcommittee.linalg import cholesky, column_sums_of_squares, solve_lower
from gpcommittee.records import Moments


@dataclass(frozen=True)
class AugmentedFactor:
    """Factor of one expert's residual given the communication rows.

    Attributes
    ----------
    X : Tensor, shape (m, n_features)
    coupling : Tensor, shape (m_c, m)
        B, the cross-covariance whitened by the communication factor.
    lower : Tensor, shape (m, m)
        Cholesky factor of the residual covariance S.
    weights : Tensor, shape (m,)
        The residual target whitened by it.
    jitter : float
        Jitter the factor needed, as a share of the mean prior variance.
    """

    X: Tensor
    coupling: Tensor
    lower: Tensor
    weights: Tensor
    jitter: float


def factor_augmented(committee: Committee, communication: BaseFactor, expert: int) -> AugmentedFactor:
    """Factor one augmented expert.

    Parameters
    ----------
    committee : Committee
    communication : BaseFactor
        Factor of the communication expert.
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
    X, y = committee.block(expert)
    coupling = solve_lower(communication.lower, committee.covariance(communication.X, X))
    noisy = committee.noisy_covariance(X)
    scale = noisy.diagonal().mean().item()
    lower, jitter = cholesky(
        noisy.addmm_(coupling.mT, coupling, alpha=-1.0), f"residual covariance of expert {expert}", scale
    )
    return AugmentedFactor(X, coupling, lower, solve_lower(lower, y - coupling.mT @ communication.weights), jitter)


def augmented_moments(
    committee: Committee, factor: AugmentedFactor, communication: Projection, x: Tensor, prior_variance: Tensor
) -> Moments:
    """Posterior mean and latent variance of an augmented expert at test points (section 3.1 of the paper).

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor
    communication : Projection
        The communication expert's view of the same test points.
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    prior_variance : Tensor, shape (n_points,)
        Latent prior variance there.

    Returns
    -------
    Moments
    """
    residual = committee.covariance(factor.X, x).addmm_(factor.coupling.mT, communication.whitened, alpha=-1.0)
    whitened = solve_lower(factor.lower, residual)
    variance = communication.moments.var_latent - column_sums_of_squares(whitened)
    mean = communication.moments.mean + whitened.mT @ factor.weights
    return Moments(mean, floor_variance(variance, prior_variance))
