"""The rows of a fit: divided among experts, then arranged for training. Here in memory; elsewhere on other machines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpcommittee.data import Rows
from gpcommittee.data.rows import places
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.kernels.metric import sampled
from gpcommittee.records import FloatArray, Hyperparameters, IntArray, Partition
from gpcommittee.training.part import Part, SomeExperts


class ArrangedRows(Protocol):
    """Rows in their final order, expert after expert."""

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        ...

    def part(self, experts: IntArray) -> SomeExperts:
        """Some of the experts."""
        ...


Final = TypeVar("Final", bound=ArrangedRows, covariant=True)


class DividedRows(Protocol[Final]):
    """Standardised rows that are divided among experts."""

    @property
    def n_rows(self) -> int:
        """Of all experts."""
        ...

    @property
    def n_features(self) -> int:
        """Columns of the inputs."""
        ...

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        ...

    @property
    def sizes(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        ...

    def part(self, kernel: KernelFunction, experts: IntArray, n_communication: int | None = None) -> SomeExperts:
        """Some of the experts, the communication expert first, of which so many rows at most."""
        ...

    def typical(self) -> FloatArray:
        """Inputs that say what a typical row is, shape (n, n_features)."""
        ...

    def identity(self) -> Sequence[NDArray[Any]]:
        """Arrays that tell these rows and their division from any others."""
        ...

    def arranged(self, kernel: KernelFunction, hyperparameters: Hyperparameters) -> Final:
        """The same for training, and for the committee that comes of it."""
        ...


@dataclass(frozen=True)
class Arranged:
    """Rows in memory, arranged as a committee.

    Attributes
    ----------
    committee : Committee
    partition : Partition
    metric : str
        In which the rows were divided.
    """

    committee: Committee
    partition: Partition
    metric: str

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        return self.partition.n_experts

    def part(self, experts: IntArray) -> Part:
        """Some of the experts, by views."""
        return Part.of_committee(self.committee, self.partition, experts, self.metric)

    def with_hyperparameters(self, hyperparameters: Hyperparameters) -> Committee:
        """The committee."""
        return replace(self.committee, hyperparameters=hyperparameters)


@dataclass(frozen=True)
class RowsInMemory:
    """Rows in memory and their division.

    Attributes
    ----------
    rows : Rows
    partition : Partition
    metric : str
        In which the rows were divided.
    """

    rows: Rows
    partition: Partition
    metric: str

    @property
    def n_rows(self) -> int:
        """Of all experts."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Columns of the inputs."""
        return self.rows.n_features

    @property
    def n_experts(self) -> int:
        """The communication expert included."""
        return self.partition.n_experts

    @property
    def sizes(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        return self.partition.sizes

    def part(self, kernel: KernelFunction, experts: IntArray, n_communication: int | None = None) -> Part:
        """Some of the experts, copied."""
        return Part.of_rows(kernel, self.rows, self.partition, experts, n_communication)

    def typical(self) -> FloatArray:
        """Some of the inputs."""
        return self.rows.some(sampled(len(self.rows)))[0]

    def identity(self) -> Sequence[NDArray[Any]]:
        """Rows and partition."""
        return self.partition.offsets, self.partition.order, self.rows.inputs(), self.rows.y

    def arranged(self, kernel: KernelFunction, hyperparameters: Hyperparameters) -> Arranged:
        """Rows ordered by expert, copied."""
        committee = arrange(kernel, self.rows, self.partition, hyperparameters.noise_variance)
        return Arranged(replace(committee, hyperparameters=hyperparameters), self.partition, self.metric)


def arrange(kernel: KernelFunction, rows: Rows, partition: Partition, noise_variance: float) -> Committee:
    """The committee before training: rows ordered by expert, the kernel's present values as hyperparameters.

    Parameters
    ----------
    kernel : KernelFunction
    rows : Rows
    partition : Partition
    noise_variance : float
        On a target of variance 1.

    Returns
    -------
    Committee
    """
    return Committee(
        kernel,
        Hyperparameters(kernel.start, float(np.log(noise_variance))),
        _ordered(kernel, rows, partition.order),
        kernel.tensor(rows.y[partition.order]),
        partition.offsets,
    )


def _ordered(kernel: KernelFunction, rows: Rows, order: IntArray) -> Tensor:
    """Standardised inputs in an order, put there from one block after the other."""
    like = kernel.tensor(np.empty(0))
    ordered, to = like.new_empty((len(rows), rows.n_features)), torch.from_numpy(places(order)).to(like.device)
    for block in rows.blocks():
        ordered.index_copy_(0, to[block], kernel.tensor(rows.some(block)[0]))
    return ordered


def divide_in_memory(
    rows: Rows, divide: Callable[[FloatArray], Partition]
) -> Callable[[FloatArray | None], RowsInMemory]:
    """The division of rows, in any metric.

    Parameters
    ----------
    rows : Rows
    divide : callable
        From standardised inputs to a partition.

    Returns
    -------
    callable
    """

    def in_metric(scales: FloatArray | None) -> RowsInMemory:
        return RowsInMemory(rows, divide(rows.inputs(scales)), "standardised" if scales is None else "learned")

    return in_metric
