from __future__ import annotations

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.priors import NormalPrior

from committees import random_blocks, theta_of
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import Partition
from gpcommittee.training import FactorisedObjective, arrange
from gpcommittee.training.part import Part, PartObjective
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
BLOCKS = random_blocks([30, 20, 25], 2, seed=0)
TENSORS = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in BLOCKS]
KERNEL = KernelFunction(make_kernel("squared_exponential", 2))
X = np.random.default_rng(1).normal(size=(12, 2))
Y = X.sum(axis=1)
PARTITION = Partition(np.random.default_rng(2).permutation(12), np.array([0, 4, 7, 12]))


def test_all_experts_give_the_factorised_objective_to_the_last_bit() -> None:
    part = PartObjective(KERNEL, TENSORS, 75, SerialEngine())(theta_of(GP))
    whole = FactorisedObjective(KERNEL, TENSORS, SerialEngine())(theta_of(GP))
    assert part[0] == whole[0]
    np.testing.assert_array_equal(part[1], whole[1])


def test_some_experts_stand_for_all_by_their_share_of_the_rows() -> None:
    value, gradient = PartObjective(KERNEL, TENSORS[:2], 75, SerialEngine())(theta_of(GP))
    assert value == pytest.approx(75 / 50 * sum(GP.nlml(*block) for block in BLOCKS[:2]), rel=1e-10)
    _, unscaled = FactorisedObjective(KERNEL, TENSORS[:2], SerialEngine())(theta_of(GP))
    np.testing.assert_allclose(gradient, 1.5 * unscaled, rtol=1e-12)


def test_priors_count_once() -> None:
    kernel = ScaleKernel(RBFKernel(lengthscale_prior=NormalPrior(0.5, 0.1)))
    with_prior, without = KernelFunction(kernel), KernelFunction(ScaleKernel(RBFKernel()))
    theta = np.append(without.start, np.log(0.1))
    differences = []
    for objective in (PartObjective, lambda *a: FactorisedObjective(a[0], a[1], a[3])):
        (a, slope_a), (b, slope_b) = (
            objective(f, TENSORS[:2], 75, SerialEngine())(theta) for f in (with_prior, without)
        )
        differences.append(np.append(slope_a - slope_b, a - b))
    np.testing.assert_allclose(differences[0], differences[1], rtol=1e-7, atol=1e-10)


def test_terms_are_those_of_the_experts_on_every_engine() -> None:
    terms = FactorisedObjective(KERNEL, TENSORS, SerialEngine()).terms(theta_of(GP))
    np.testing.assert_allclose(terms, [GP.nlml(*block) for block in BLOCKS], rtol=1e-10)
    np.testing.assert_array_equal(FactorisedObjective(KERNEL, TENSORS, ThreadEngine(3)).terms(theta_of(GP)), terms)


def test_a_part_is_the_same_from_rows_and_from_a_committee() -> None:
    experts = np.array([0, 2])
    rows = Part.of_rows(KERNEL, X, Y, PARTITION, experts)
    views = Part.of_committee(arrange(KERNEL, X, Y, PARTITION, 0.1), PARTITION, experts, "standardised")
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
    committee = arrange(KERNEL, X, Y, PARTITION, 0.1)
    moved = Partition(PARTITION.order, np.array([0, 4, 8, 12]))
    keys = {
        Part.of_committee(committee, PARTITION, np.array([0, 2]), "standardised").key,
        Part.of_committee(committee, PARTITION, np.array([0, 1]), "standardised").key,
        Part.of_committee(committee, PARTITION, np.array([0, 2]), "learned").key,
        Part.of_committee(committee, PARTITION, np.arange(3), "standardised").key,
        Part.of_committee(committee, moved, np.arange(3), "standardised").key,
    }
    assert len(keys) == 5
