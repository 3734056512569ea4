"""Committees of any size on a smooth function with noise."""

from __future__ import annotations

import numpy as np
import torch
from gpytorch.kernels import Kernel

from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import PartitionSizes, partition_rows
from gpcommittee.records import FloatArray, Hyperparameters


def make_committee(
    n_experts: int,
    size: int,
    *,
    kernel: str = "squared_exponential",
    lengthscale: float = 0.3,
    noise: float = 1e-2,
    partition: str = "tree",
    n_features: int = 2,
    inputs: str = "uniform",
) -> Committee:
    """A committee on a smooth function with noise."""
    generator = np.random.default_rng(n_experts + size)
    n_rows = n_experts * size
    X = generator.uniform(-2, 2, (n_rows, n_features))
    if inputs == "clustered":
        X = generator.uniform(-2, 2, (9, n_features))[generator.integers(9, size=n_rows)] + 0.1 * X
    if inputs == "duplicated":
        X = X[generator.integers(n_rows // 4, size=n_rows)]
    return committee_on(X, partition, n_experts=n_experts, kernel=kernel, lengthscale=lengthscale, noise=noise)


def committee_on(
    X: FloatArray,
    partition: str,
    *,
    n_experts: int,
    lengthscale: float,
    noise: float,
    kernel: str | Kernel = "squared_exponential",
    y: FloatArray | None = None,
) -> Committee:
    """A committee on some rows, by default on the same function."""
    if y is None:
        generator = np.random.default_rng(len(X))
        y = np.sin(3 * X).sum(axis=1) + np.sqrt(noise) * generator.standard_normal(len(X))
    function = KernelFunction(make_kernel(kernel, X.shape[1]) if isinstance(kernel, str) else kernel.double())
    found = partition_rows(X, partition, PartitionSizes(n_experts, len(X) // n_experts), 0)
    theta = np.zeros(len(function.start))
    theta[[p.name.endswith("raw_lengthscale") for p in function.parameters for _ in range(p.shape.numel())]] = np.log(
        lengthscale
    )
    return Committee(
        function,
        Hyperparameters(theta, float(np.log(noise))),
        torch.from_numpy(X[found.order]),
        torch.from_numpy(y[found.order]),
        found.offsets,
    )


def points(n: int, n_features: int = 2, seed: int = 0) -> FloatArray:
    """Points among the rows of `make_committee`, and a little beyond them."""
    return np.random.default_rng(seed).uniform(-2.2, 2.2, (n, n_features))
