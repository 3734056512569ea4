"""Negative log marginal likelihoods of a batch of experts, and the gradient of their sum (Eq. 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gpcommittee.kernels import KernelFunction
from gpcommittee.likelihood.marginal import from_factor
from gpcommittee.linalg import cholesky_of_each
from gpcommittee.padding import Padding
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch


def values_and_gradient(
    kernel: KernelFunction, theta: FloatArray, blocks: Sequence[tuple[Tensor, Tensor]], scratch: Scratch | None = None
) -> tuple[FloatArray, FloatArray]:
    """Negative log marginal likelihoods of experts that are evaluated together.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray, shape (p + 1,)
        Unconstrained kernel parameters, then the log noise variance.
    blocks : sequence of (X, y), length b
        Standardised inputs (m_i, d) and target (m_i,) of each expert; at least one.
    scratch : Scratch, optional
        Memory to use again from one batch to the next.

    Returns
    -------
    values : ndarray, shape (b,)
        In nats; NaN where the noisy covariance cannot be factored as it is.
    gradient : ndarray, shape (p + 1,)
        Of the sum over the other experts.
    """
    memory = scratch or Scratch()
    with torch.no_grad():
        padding = Padding.of([y for _, y in blocks])
        X, y = (padding.stack(parts) for parts in zip(*blocks, strict=True))
        noisy, pullback = kernel.noisy_covariance_with_pullback(kernel.tensor(theta), X, memory)
        scales = padding.mean_of_diagonal(noisy)
        factor, sound = cholesky_of_each(padding.detach(noisy), scales, memory)
        if not bool(sound.all()):
            return _of_sound(kernel, theta, blocks, sound.cpu().numpy(), memory)
        values, by_covariance = from_factor(factor, padding.clear(y), padding.rows(y), memory)
        gradient = pullback(padding.clear_diagonal(by_covariance))
    return values.double().cpu().numpy(), gradient.double().cpu().numpy()


def _of_sound(
    kernel: KernelFunction,
    theta: FloatArray,
    blocks: Sequence[tuple[Tensor, Tensor]],
    sound: np.ndarray,
    scratch: Scratch,
) -> tuple[FloatArray, FloatArray]:
    """Again without those that failed, so that nothing of theirs is in the sum."""
    values, gradient = np.full(len(blocks), np.nan), np.zeros(len(theta))
    rest = [block for block, is_sound in zip(blocks, sound, strict=True) if is_sound]
    if rest:
        values[sound], gradient = values_and_gradient(kernel, theta, rest, scratch)
    return values, gradient
