"""Batches of experts: factors computed together, and factors stacked so that their moments are computed together.

The formulas are those of ``base`` and ``augmented`` with a leading dimension. Every expert's factor is kept by itself,
so that any of them can be stacked with any others of nearly the same size, or forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from gpcommittee.experts.augmented import AugmentedFactor
from gpcommittee.experts.base import BaseFactor
from gpcommittee.experts.committee import Committee
from gpcommittee.linalg import cholesky_of_each, solve_lower, subtract_gram, times_vector, whiten_rows
from gpcommittee.padding import Padding


def factor_base_together(committee: Committee, experts: Sequence[int]) -> list[BaseFactor | None]:
    """Factor base experts together.

    Parameters
    ----------
    committee : Committee
    experts : sequence of int

    Returns
    -------
    list of BaseFactor or None
        None where the noisy covariance cannot be factored as it is: ``factor_base`` has the remedies.
    """
    padding, X, y = _stacked_blocks(committee, experts)
    noisy = committee.noisy_covariance(X, _noise(committee, experts))
    scales = padding.mean_of_diagonal(noisy)
    lower, sound = cholesky_of_each(padding.detach(noisy), scales)
    weights = solve_lower(lower, padding.clear(y))
    parts = zip(padding.unstack(X), padding.unstack_lower(lower), padding.unstack(weights), strict=True)
    return [
        BaseFactor(*part, 0.0, relative_noise=committee.relative_noise(expert)) if is_sound else None
        for expert, part, is_sound in zip(experts, parts, sound.tolist(), strict=True)
    ]


def factor_augmented_together(
    committee: Committee, communication: BaseFactor, experts: Sequence[int]
) -> list[AugmentedFactor | None]:
    """Factor augmented experts together.

    Parameters
    ----------
    committee : Committee
    communication : BaseFactor
        Factor of the communication expert, whose precision the result takes.
    experts : sequence of int
        Each at least 1.

    Returns
    -------
    list of AugmentedFactor or None
        None where the residual covariance cannot be factored as it is: ``factor_augmented`` has the remedies.
    """
    committee = committee.as_type(communication.lower.dtype)
    padding, X, y = _stacked_blocks(committee, experts)
    covariance = committee.covariance(X, communication.X)
    coupling = whiten_rows(communication.lower, covariance.flatten(0, 1)).view_as(covariance)
    padding.clear(coupling.mT)
    noisy = committee.noisy_covariance(X, _noise(committee, experts))
    scales = padding.mean_of_diagonal(noisy)
    lower, sound = cholesky_of_each(subtract_gram(padding.detach(noisy), coupling), scales)
    weights = solve_lower(lower, padding.clear(y) - times_vector(coupling, communication.weights))
    parts = zip(
        padding.unstack(X),
        padding.unstack(coupling),
        padding.unstack_lower(lower),
        padding.unstack(weights),
        strict=True,
    )
    return [
        AugmentedFactor(*part, 0.0, relative_noise=committee.relative_noise(expert)) if is_sound else None
        for expert, part, is_sound in zip(experts, parts, sound.tolist(), strict=True)
    ]


def stack_base(factors: Sequence[BaseFactor]) -> BaseFactor:
    """Factors of experts as that of a batch, of one precision.

    Parameters
    ----------
    factors : sequence of BaseFactor

    Returns
    -------
    BaseFactor
    """
    padding = Padding.of([factor.weights for factor in factors])
    return BaseFactor(
        padding.stack([factor.X for factor in factors]),
        padding.stack_lower([factor.lower for factor in factors]),
        padding.clear(padding.stack([factor.weights for factor in factors])),
        max(factor.jitter for factor in factors),
        padding,
    )


def stack_augmented(factors: Sequence[AugmentedFactor]) -> AugmentedFactor:
    """Factors of augmented experts as that of a batch, of one precision.

    Parameters
    ----------
    factors : sequence of AugmentedFactor

    Returns
    -------
    AugmentedFactor
    """
    padding = Padding.of([factor.weights for factor in factors])
    coupling = padding.stack([factor.coupling for factor in factors])
    padding.clear(coupling.mT)
    return AugmentedFactor(
        padding.stack([factor.X for factor in factors]),
        coupling,
        padding.stack_lower([factor.lower for factor in factors]),
        padding.clear(padding.stack([factor.weights for factor in factors])),
        max(factor.jitter for factor in factors),
        padding,
    )


def _stacked_blocks(committee: Committee, experts: Sequence[int]) -> tuple[Padding, Tensor, Tensor]:
    """Inputs (b, m, n_features) and targets (b, m) of experts."""
    blocks = [committee.block(expert) for expert in experts]
    padding = Padding.of([y for _, y in blocks])
    X, y = (padding.stack(parts) for parts in zip(*blocks, strict=True))
    return padding, X, y


def _noise(committee: Committee, experts: Sequence[int]) -> Tensor:
    """Noise variance of each expert's rows, shape (b, 1)."""
    return committee.kernel.tensor(np.array([[committee.noise_of(expert)] for expert in experts]))
