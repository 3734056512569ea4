"""The experts that the benchmarks of likelihood and moments compute: equal ones on drawn rows."""

from __future__ import annotations

import numpy as np

from gpcommittee.data import Rows
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import FloatArray, Partition
from gpcommittee.training import arrange

NOISE = 0.1


def smooth_function(X: FloatArray) -> FloatArray:
    """Something to learn: waves along two directions."""
    values: FloatArray = np.sin(X[:, 0] + 0.5 * X[:, 1:].sum(axis=1)) + np.cos(X[:, :2].sum(axis=1))
    return values


def drawn_committee(kernel: str, n_experts: int, size: int, n_features: int) -> Committee:
    """Experts of equal size, standard normal inputs, the kernel at its start."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n_experts * size, n_features))
    y = smooth_function(X) + NOISE * generator.standard_normal(len(X))
    partition = Partition(np.arange(len(X)), size * np.arange(n_experts + 1))
    function = KernelFunction(make_kernel(kernel, n_features))
    return arrange(function, Rows.standardised(X, (y - y.mean()) / y.std()), partition, NOISE)
