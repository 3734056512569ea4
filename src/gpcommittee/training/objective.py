"""The factorised objective (Eq. 2 of the paper): the sum of all experts' negative log marginal likelihoods.

All experts, the communication expert included, share the hyperparameters. Log priors registered on the kernel are
subtracted once, which makes the result a maximum a posteriori estimate. Where the engine takes experts in batches, some
of nearly equal size are one task. Sums are exact, so that they are the same however experts are grouped.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gpcommittee.engines import Engine
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction
from gpcommittee.likelihood import value_and_gradient, values_and_gradient
from gpcommittee.padding import batches
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch, ScratchPool
from gpcommittee.sums import ExactSum

Block = tuple[Tensor, Tensor]

MATRICES_TOGETHER = 16
"""Matrices of an expert's size alive for each expert of a batch, of kernels left to automatic differentiation."""


class Objective(Protocol):
    """What training minimises: a sum of one term per expert, and minus the kernel's log priors."""

    @property
    def n_rows(self) -> int:
        """Rows of all experts."""
        ...

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,)."""
        ...

    def terms(self, theta: FloatArray, experts: slice = slice(None)) -> FloatArray:
        """Terms of the chosen experts, shape (n_chosen,), without weight and log prior."""
        ...


class BlockObjective(ABC):
    """An objective of experts whose rows are in this process.

    Parameters
    ----------
    kernel : KernelFunction
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of each expert.
    engine : Engine
    weight : float, default=1.0
        Of the terms of experts that stand for more. Log priors count once.
    """

    def __init__(self, kernel: KernelFunction, blocks: Sequence[Block], engine: Engine, weight: float = 1.0) -> None:
        self.kernel = kernel
        self.blocks = blocks
        self.engine = engine
        self.weight = weight
        self._memory = ScratchPool()
        self._in_double = None if kernel.dtype == torch.float64 else kernel.as_type(torch.float64)

    @property
    def n_rows(self) -> int:
        """Rows of all experts."""
        return sum(len(y) for _, y in self.blocks)

    @abstractmethod
    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,)."""

    @abstractmethod
    def terms(self, theta: FloatArray, experts: slice = slice(None)) -> FloatArray:
        """Terms of the chosen experts, shape (n_chosen,), without weight and log prior."""


class FactorisedObjective(BlockObjective):
    """Value and gradient of the factorised negative log marginal likelihood.

    Parameters
    ----------
    kernel : KernelFunction
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of each expert.
    engine : Engine
    weight : float, default=1.0
        Of the experts' terms, where these experts stand for more. Log priors count once.
    """

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,).

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's noisy covariance cannot be factored there.
        """
        return with_log_prior(self.kernel, theta, self.weight * self.sums(theta).rounded())

    def sums(self, theta: FloatArray) -> ExactSum:
        """Sum of the experts' values, and of their gradients, shape (p + 2,), without weight and log prior.

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's noisy covariance cannot be factored there.
        """
        parts = self._parts(theta, self.blocks)
        return ExactSum.of([np.append(values.sum(), gradient) for _, values, gradient in parts])

    def terms(self, theta: FloatArray, experts: slice = slice(None)) -> FloatArray:
        """Negative log marginal likelihood of each chosen expert, shape (n_chosen,), without weight and log prior.

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's noisy covariance cannot be factored there.
        """
        blocks = self.blocks[experts]
        terms = np.empty(len(blocks))
        for numbers, values, _ in self._parts(theta, blocks):
            terms[numbers] = values
        return terms

    def _parts(
        self, theta: FloatArray, blocks: Sequence[Block]
    ) -> Iterator[tuple[Sequence[int], FloatArray, FloatArray]]:
        """Numbers and values of the experts of each batch and the gradient of their sum, in the order of batches."""
        bytes_of = partial(_bytes_together, self.kernel.dtype.itemsize)
        together = batches([len(y) for _, y in blocks], bytes_of, self.engine.batch_memory)
        of_batch = partial(_of_batch, self.kernel, self._in_double, theta, self._memory)
        parts = self.engine.map(of_batch, [[blocks[number] for number in numbers] for numbers in together])
        for numbers, (values, gradient) in zip(together, parts, strict=True):
            yield numbers, values, gradient


def _bytes_together(itemsize: int, size: int) -> float:
    return float(MATRICES_TOGETHER * itemsize) * size**2


def _of_batch(
    kernel: KernelFunction,
    in_double: KernelFunction | None,
    theta: FloatArray,
    memory: ScratchPool,
    blocks: Sequence[Block],
) -> tuple[FloatArray, FloatArray]:
    """An expert that cannot be factored in its batch is evaluated alone."""
    values, gradient = np.full(len(blocks), np.nan), np.zeros(len(theta))
    with memory.borrow() as scratch:
        if len(blocks) > 1:
            values, gradient = values_and_gradient(kernel, theta, blocks, scratch)
        for number in np.flatnonzero(np.isnan(values)).tolist():
            values[number], alone = _of_block(kernel, in_double, theta, scratch, blocks[number])
            gradient = gradient + alone
    return values, gradient


def _of_block(
    kernel: KernelFunction, in_double: KernelFunction | None, theta: FloatArray, scratch: Scratch, block: Block
) -> tuple[float, FloatArray]:
    """An expert whose covariance float32 cannot factor is evaluated in float64."""
    try:
        return value_and_gradient(kernel, theta, *block, scratch)
    except NotPositiveDefiniteError:
        if in_double is None:
            raise
    X, y = (values.double() for values in block)
    return value_and_gradient(in_double, theta, X, y, scratch)


def with_log_prior(kernel: KernelFunction, theta: FloatArray, terms: FloatArray) -> tuple[float, FloatArray]:
    """Objective and gradient from the experts' part of them, shape (p + 2,): the kernel's log priors count once."""
    value, gradient = negative_log_prior(kernel, theta)
    return value + float(terms[0]), gradient + terms[1:]


def negative_log_prior(kernel: KernelFunction, theta: FloatArray) -> tuple[float, FloatArray]:
    """Minus the log priors registered on a kernel, and the gradient of that.

    Parameters
    ----------
    kernel : KernelFunction
    theta : ndarray, shape (p + 1,)
        Unconstrained kernel parameters, then the log noise variance.

    Returns
    -------
    value : float
        In nats; infinite outside a prior's support.
    gradient : ndarray, shape (p + 1,)
    """
    with torch.enable_grad():
        point = kernel.tensor(theta).requires_grad_()
        try:
            value = -kernel.log_prior(point[:-1])
        except ValueError:  # PyTorch's word for a point outside a prior's support
            return math.inf, np.zeros(len(theta))
        if not value.requires_grad:
            return value.item(), np.zeros(len(theta))
        (gradient,) = torch.autograd.grad(value, point)
    return value.item(), gradient.double().cpu().numpy()
