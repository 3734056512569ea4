"""What a task makes of its inputs on a worker: a committee or blocks of some experts, on the worker's own device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from gpcommittee.engines import SerialEngine
from gpcommittee.engines.device import batch_memory
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import FloatArray, Hyperparameters, Shard, Standardisation
from gpcommittee.training.objective import Block

Rows = tuple[FloatArray, FloatArray]
"""Standardised inputs and target of the communication set."""


@dataclass(frozen=True)
class Model:
    """A committee without its rows.

    Attributes
    ----------
    kernel : KernelFunction
    hyperparameters : Hyperparameters
    scaling : Standardisation
    calibrated : bool
        Whether variances are calibrated.
    device : str
        On which every worker computes.
    """

    kernel: KernelFunction
    hyperparameters: Hyperparameters
    scaling: Standardisation
    calibrated: bool
    device: str

    @property
    def noise_variance(self) -> float:
        """Noise variance on a target of variance 1."""
        return self.hyperparameters.noise_variance

    def in_double(self) -> Model:
        """The same in float64, with the parameters that its own precision holds."""
        if self.kernel.dtype == torch.float64:
            return self
        own = self.kernel.tensor(self.hyperparameters.kernel).double().numpy()
        hyperparameters = replace(self.hyperparameters, kernel=own)
        return replace(self, kernel=self.kernel.as_type(torch.float64), hyperparameters=hyperparameters)

    def committee(
        self, communication: Rows, shard: Shard | None = None, experts: tuple[int, int] | None = None
    ) -> Committee:
        """The communication expert and some of a shard's experts, on the worker's device.

        Parameters
        ----------
        communication : (X, y)
        shard : Shard, optional
            Default: the communication expert alone.
        experts : (first, stop), optional
            Counted from 0 in the shard. Default: all of them.
        """
        X, y, offsets, first_expert = *communication, np.array([0, len(communication[1])]), 1
        if shard is not None:
            first, stop = experts or (0, shard.n_experts)
            bounds = shard.offsets[first : stop + 1]
            rows = slice(int(bounds[0]), int(bounds[-1]))
            X, y = np.concatenate([X, shard.X[rows]]), np.concatenate([y, shard.y[rows]])
            offsets = np.append(offsets[:1], offsets[1] + bounds - bounds[0])
            first_expert = shard.first_expert + first
        kernel = on_device(self.kernel, self.device)
        return Committee(
            kernel, self.hyperparameters, tensor_of(kernel, X), tensor_of(kernel, y), offsets, first_expert=first_expert
        )


def on_device(kernel: KernelFunction, device: str) -> KernelFunction:
    """A kernel on the worker's device."""
    return kernel if torch.device(device) == kernel.device else kernel.on(device)


def engine_on(device: str) -> SerialEngine:
    """One worker's engine: on CUDA experts go in batches."""
    return SerialEngine(batch_memory(torch.device(device)))


def block_of(kernel: KernelFunction, rows: Rows) -> Block:
    """The communication set as an expert's block."""
    return tensor_of(kernel, rows[0]), tensor_of(kernel, rows[1])


def blocks_of(kernel: KernelFunction, shard: Shard, experts: tuple[int, ...]) -> list[Block]:
    """Blocks of some of a shard's experts, counted from 0 in the shard."""
    rows = [slice(int(shard.offsets[e]), int(shard.offsets[e + 1])) for e in experts]
    return [(tensor_of(kernel, shard.X[one]), tensor_of(kernel, shard.y[one])) for one in rows]


def tensor_of(kernel: KernelFunction, values: FloatArray) -> torch.Tensor:
    """A copy: what Dask hands over cannot be written to, of which PyTorch warns."""
    return torch.tensor(values, dtype=kernel.dtype, device=kernel.device)
