"""The experts of a stage, some of which may stand for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpcommittee.data import Rows
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.records import IntArray, Partition
from gpcommittee.training.checkpoint import fingerprint
from gpcommittee.training.objective import Block


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
    def of_rows(cls, kernel: KernelFunction, rows: Rows, partition: Partition, experts: IntArray) -> Part:
        """From all rows, of which those of the given experts are copied.

        Parameters
        ----------
        kernel : KernelFunction
        rows : Rows
        partition : Partition
            In the standardised metric.
        experts : ndarray of int64
        """
        of_experts = [rows.some(partition.rows(int(expert))) for expert in experts]
        blocks = [(kernel.tensor(X), kernel.tensor(y)) for X, y in of_experts]
        return cls(blocks, partition.n_experts, "standardised", _key("standardised", partition, experts))

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
        return cls(blocks, partition.n_experts, metric, _key(metric, partition, experts))

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the committee."""
        return len(self.blocks) == self.n_committee

    @property
    def rows(self) -> IntArray:
        """Rows of each expert, shape (n_experts,)."""
        return np.array([len(y) for _, y in self.blocks], dtype=np.int64)


def _key(metric: str, partition: Partition, experts: IntArray) -> str:
    chosen = [partition.rows(int(expert)) for expert in experts]
    return fingerprint([metric], [np.concatenate(chosen), np.array([len(rows) for rows in chosen])])
