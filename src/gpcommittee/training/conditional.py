"""The conditional objective: -log p(y_c) - sum_i log p(y_i | y_c), experts independent given the communication set.

It is the likelihood of the model with which GRBCM predicts: its augmented experts share nothing beyond the
communication set (section 3.1 of the paper). With two sets it is the exact log marginal likelihood of their union.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction
from gpcommittee.likelihood import (
    ConditionalTerm,
    Conditioning,
    communication_gradient,
    condition_on,
    conditional_term,
    conditional_value,
    own_derivative,
)
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch, ScratchPool
from gpcommittee.training.objective import Block, BlockObjective, with_log_prior

Result = TypeVar("Result")


class ConditionalObjective(BlockObjective):
    """Value and gradient of the conditional objective.

    Parameters
    ----------
    kernel : KernelFunction
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of each expert, the communication expert first.
    engine : Engine
    weight : float, default=1.0
        Of the terms of the other experts, where these stand for more. The communication expert and log priors count
        once.
    """

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,).

        The derivatives by A_c are summed in the order of experts as they arrive, so that a few are held at a time.

        Raises
        ------
        NotPositiveDefiniteError
            If a covariance cannot be factored there.
        """
        return with_log_prior(self.kernel, theta, self.sums(theta))

    def sums(self, theta: FloatArray, with_own: bool = True) -> FloatArray:
        """Weighted value and gradient of the experts' terms, shape (p + 2,), without log prior.

        Parameters
        ----------
        theta : ndarray, shape (p + 1,)
        with_own : bool
            Whether the communication expert's own term is in it.

        Raises
        ------
        NotPositiveDefiniteError
            If a covariance cannot be factored there.
        """
        communication = self._communication(theta)
        first = communication.first
        value, gradient = first.value if with_own else 0.0, np.zeros(len(theta))
        sums = {first.kernel.dtype: own_derivative(first)} if with_own else {}
        of_block = partial(_guarded, conditional_term, communication, self._memory)
        for term in self.engine.map(of_block, self.blocks[1:]):
            value += self.weight * term.value
            gradient = gradient + self.weight * term.gradient
            _add(sums, term, self.weight)
        for dtype, by_communication in sums.items():
            gradient = gradient + communication_gradient(communication.of_type(dtype), by_communication)
        return np.append(value, gradient)

    def terms(self, theta: FloatArray, experts: slice = slice(None)) -> FloatArray:
        """-log p(y_i | y_c) of each chosen expert, -log p(y_c) for the first; shape (n_chosen,), without weight.

        Raises
        ------
        NotPositiveDefiniteError
            If a covariance cannot be factored there.
        """
        communication = self._communication(theta)
        chosen = range(len(self.blocks))[experts]
        of_block = partial(_guarded, conditional_value, communication, self._memory)
        others = self.engine.map(of_block, [self.blocks[expert] for expert in chosen if expert > 0])
        return np.array([next(others) if expert > 0 else communication.first.value for expert in chosen])

    def _communication(self, theta: FloatArray) -> _Communication:
        return _Communication(self.kernel, self._in_double, theta, self.blocks[0])


class _Communication:
    """The communication expert at a point: in the kernel's precision if that can factor it, and in float64 on demand.

    Attributes
    ----------
    first : Conditioning
        In the first precision of the two that can factor it.
    """

    def __init__(
        self, kernel: KernelFunction, in_double: KernelFunction | None, theta: FloatArray, block: Block
    ) -> None:
        self._theta = theta
        self._block = block
        self._kernel_in_double = in_double
        self._double: Conditioning | None = None
        self._lock = threading.Lock()
        try:
            self.first = condition_on(kernel, theta, *block)
        except NotPositiveDefiniteError:
            double = self.in_double()
            if double is None:
                raise
            self.first = double

    def in_double(self) -> Conditioning | None:
        """In float64, computed once for all experts that need it; None where that is the kernel's own precision."""
        if self._kernel_in_double is None:
            return None
        with self._lock:
            if self._double is None:
                X, y = (values.double() for values in self._block)
                self._double = condition_on(self._kernel_in_double, self._theta, X, y)
            return self._double

    def of_type(self, dtype: torch.dtype) -> Conditioning:
        """The one in a precision in which some expert was evaluated."""
        double = None if dtype == self.first.kernel.dtype else self.in_double()
        return self.first if double is None else double


def _guarded(
    evaluate: Callable[[Conditioning, Tensor, Tensor, Scratch], Result],
    communication: _Communication,
    memory: ScratchPool,
    block: Block,
) -> Result:
    """One expert; in float64 where float32 cannot factor its residual covariance."""
    first = communication.first
    X, y = (values.to(first.kernel.dtype) for values in block)
    with memory.borrow() as scratch:
        try:
            return evaluate(first, X, y, scratch)
        except NotPositiveDefiniteError:
            double = communication.in_double()
            if double is None or double is first:
                raise
        return evaluate(double, X.double(), y.double(), scratch)


def _add(sums: dict[torch.dtype, Tensor], term: ConditionalTerm, weight: float) -> None:
    """Add a term's derivative by the communication covariance to the sum in its precision."""
    by_communication = term.by_communication
    if by_communication.dtype in sums:
        sums[by_communication.dtype].add_(by_communication, alpha=weight)
    else:
        sums[by_communication.dtype] = by_communication.mul_(weight)
