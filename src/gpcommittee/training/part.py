"""The experts of a stage, some of which may stand for all, and the rows of a fit from which they are taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpcommittee.data import Rows
from gpcommittee.engines import Engine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import IntArray, Partition
from gpcommittee.training.checkpoint import fingerprint
from gpcommittee.training.objective import Block, Objective
from gpcommittee.training.objectives import make_objective


class SomeExperts(Protocol):
    """Some of a committee's experts, or all, in the order in which they join, wherever their rows lie."""

    @property
    def n_committee(self) -> int:
        """Experts of the whole committee."""
        ...

    @property
    def metric(self) -> str:
        """In which the rows were divided."""
        ...

    @property
    def key(self) -> str:
        """Of all that decides which rows these are."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the committee."""
        ...

    @property
    def rows(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        ...

    def objective(self, name: str, kernel: KernelFunction, n_rows: int, engine: Engine) -> Objective:
        """What training minimises on them: the objective of a committee of ``n_rows``, as they estimate it."""
        ...


@dataclass(frozen=True)
class Part:
    """Some of a committee's experts, or all, in the order in which they join.

    Attributes
    ----------
    blocks : sequence of (X, y)
        Standardised inputs (m, d) and target (m,) of each.
    n_committee : int
        Experts of the whole committee.
    metric : str
        In which the rows were divided.
    key : str
        Of all that decides which rows these are.
    """

    blocks: Sequence[Block]
    n_committee: int
    metric: str
    key: str

    @classmethod
    def of_rows(
        cls,
        kernel: KernelFunction,
        rows: Rows,
        partition: Partition,
        experts: IntArray,
        n_communication: int | None = None,
    ) -> Part:
        """From all rows, of which those of the given experts are copied.

        Parameters
        ----------
        kernel : KernelFunction
        rows : Rows
        partition : Partition
            In the standardised metric.
        experts : ndarray of int64
            The communication expert first.
        n_communication : int, optional
            Most rows of the communication expert. Default: all.
        """
        chosen = chosen_rows(partition, experts, n_communication)
        blocks = [(kernel.tensor(X), kernel.tensor(y)) for X, y in map(rows.some, chosen)]
        return cls(blocks, partition.n_experts, "standardised", part_key("standardised", chosen))

    @classmethod
    def of_committee(cls, committee: Committee, partition: Partition, experts: IntArray, metric: str) -> Part:
        """From a committee, by views.

        Parameters
        ----------
        committee : Committee
        partition : Partition
            From which it was arranged.
        experts : ndarray of int64
        metric : str
        """
        blocks = [committee.block(int(expert)) for expert in experts]
        return cls(blocks, partition.n_experts, metric, part_key(metric, chosen_rows(partition, experts)))

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the committee."""
        return len(self.blocks) == self.n_committee

    @property
    def rows(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        return np.array([len(y) for _, y in self.blocks], dtype=np.int64)

    def objective(self, name: str, kernel: KernelFunction, n_rows: int, engine: Engine) -> Objective:
        """As in `SomeExperts`."""
        return make_objective(name, kernel, self.blocks, n_rows, engine)


def some_of(n_rows: int, most: int) -> IntArray:
    """Numbers of some of the rows of a random sample, evenly spread in its order.

    Examples
    --------
    >>> some_of(7, 3), some_of(2, 3)
    (array([0, 3, 6]), array([0, 1]))
    """
    found: IntArray = np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.int64)
    return found


def chosen_rows(partition: Partition, experts: IntArray, n_communication: int | None = None) -> list[IntArray]:
    """Row numbers of each of some experts, the communication expert first, of which so many at most."""
    first, *others = (partition.rows(int(expert)) for expert in experts)
    return [first if n_communication is None else first[some_of(len(first), n_communication)], *others]


def part_key(metric: str, chosen: Sequence[IntArray]) -> str:
    """Key of all that decides which rows the experts of a part are."""
    return fingerprint([metric], [np.concatenate(chosen), np.array([len(rows) for rows in chosen])])
