from __future__ import annotations

import numpy as np
import torch

from gpcommittee.data import Rows
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import Partition
from gpcommittee.training import arrange
from gpcommittee.training.part import Part

KERNEL = KernelFunction(make_kernel("squared_exponential", 2))
X = np.random.default_rng(1).normal(size=(12, 2))
Y = X.sum(axis=1)
ROWS = Rows.standardised(X, Y)
PARTITION = Partition(np.random.default_rng(2).permutation(12), np.array([0, 4, 7, 12]))


def test_a_part_is_the_same_from_rows_and_from_a_committee() -> None:
    experts = np.array([0, 2])
    rows = Part.of_rows(KERNEL, ROWS, PARTITION, experts)
    views = Part.of_committee(arrange(KERNEL, ROWS, PARTITION, 0.1), PARTITION, experts, "standardised")
    assert rows.key == views.key
    assert (rows.n_committee, rows.is_whole) == (views.n_committee, views.is_whole) == (3, False)
    np.testing.assert_array_equal(rows.rows, [4, 5])
    for (x, y), expert in zip(rows.blocks, experts, strict=True):
        np.testing.assert_array_equal(x, X[PARTITION.rows(expert)])
        np.testing.assert_array_equal(y, Y[PARTITION.rows(expert)])
    for a, b in zip(rows.blocks, views.blocks, strict=True):
        assert torch.equal(a[0], b[0])
        assert torch.equal(a[1], b[1])


def test_keys_tell_parts_apart() -> None:
    committee = arrange(KERNEL, ROWS, PARTITION, 0.1)
    moved = Partition(PARTITION.order, np.array([0, 4, 8, 12]))
    keys = {
        Part.of_committee(committee, PARTITION, np.array([0, 2]), "standardised").key,
        Part.of_committee(committee, PARTITION, np.array([0, 1]), "standardised").key,
        Part.of_committee(committee, PARTITION, np.array([0, 2]), "learned").key,
        Part.of_committee(committee, PARTITION, np.arange(3), "standardised").key,
        Part.of_committee(committee, moved, np.arange(3), "standardised").key,
    }
    assert len(keys) == 5
