"""The factorised objective (Eq. 2 of the paper): the sum of all experts' negative log marginal likelihoods.

All experts, the communication expert included, share the hyperparameters. Log priors registered on the kernel are
subtracted once, which makes the result a maximum a posteriori estimate.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.engines import Engine
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction
from gpcommittee.likelihood import value_and_gradient
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch

Block = tuple[Tensor, Tensor]


class FactorisedObjective:
    """Value and gradient of the factorised negative log marginal likelihood.

    Parameters
    ----------
    kernel : KernelFunction
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of each expert.
    engine : Engine
    """

    def __init__(self, kernel: KernelFunction, blocks: Sequence[Block], engine: Engine) -> None:
        self.kernel = kernel
        self.blocks = blocks
        self.engine = engine
        self._in_double = None if kernel.dtype == torch.float64 else kernel.as_type(torch.float64)

    @property
    def n_rows(self) -> int:
        """Rows of all experts."""
        return sum(len(y) for _, y in self.blocks)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Objective and gradient at unconstrained kernel parameters and log noise variance, shape (p + 1,).

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's noisy covariance cannot be factored there.
        """
        value, gradient = _negative_log_prior(self.kernel, theta)
        for part, part_gradient in self._parts(theta):
            value += part
            gradient = gradient + part_gradient
        return value, gradient

    def terms(self, theta: FloatArray) -> FloatArray:
        """Negative log marginal likelihood of each expert, shape (n_experts,), without the log prior.

        Raises
        ------
        NotPositiveDefiniteError
            If an expert's noisy covariance cannot be factored there.
        """
        return np.array([value for value, _ in self._parts(theta)])

    def _parts(self, theta: FloatArray) -> Iterator[tuple[float, FloatArray]]:
        """Value and gradient of each expert, in their order."""
        of_block = partial(_of_block, self.kernel, self._in_double, theta, threading.local())
        return self.engine.map(of_block, self.blocks)


def _of_block(
    kernel: KernelFunction,
    in_double: KernelFunction | None,
    theta: FloatArray,
    memory: threading.local,
    block: Block,
) -> tuple[float, FloatArray]:
    """Each worker thread keeps its own scratch memory for the length of one evaluation.

    An expert whose covariance float32 cannot factor is evaluated in float64.
    """
    if not hasattr(memory, "scratch"):
        memory.scratch = Scratch()
    try:
        return value_and_gradient(kernel, theta, *block, memory.scratch)
    except NotPositiveDefiniteError:
        if in_double is None:
            raise
    X, y = (values.double() for values in block)
    return value_and_gradient(in_double, theta, X, y, memory.scratch)


def _negative_log_prior(kernel: KernelFunction, theta: FloatArray) -> tuple[float, FloatArray]:
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
