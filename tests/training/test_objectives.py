from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.priors import NormalPrior

from committees import random_blocks, theta_of
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.records import FloatArray
from gpcommittee.training import OBJECTIVES, ConditionalObjective, FactorisedObjective, Objective, make_objective
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
BLOCKS = random_blocks([30, 20, 25], 2, seed=0)
TENSORS = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in BLOCKS]
KERNEL = KernelFunction(make_kernel("squared_exponential", 2))


def make(name: str, n_experts: int = 3, n_rows: int = 75, kernel: KernelFunction = KERNEL) -> Objective:
    return make_objective(name, kernel, TENSORS[:n_experts], n_rows, SerialEngine())


def reference_terms(name: str) -> FloatArray:
    """Of all experts; log p(y_i | y_c) as log p(y_c, y_i) - log p(y_c)."""
    marginal = np.array([GP.nlml(*block) for block in BLOCKS])
    if name == "factorised":
        return marginal
    X_c, y_c = BLOCKS[0]
    joint = np.array([GP.nlml(np.vstack([X_c, X]), np.append(y_c, y)) for X, y in BLOCKS[1:]])
    return np.append(marginal[0], joint - marginal[0])


PLAIN: dict[str, Callable[..., Objective]] = {"factorised": FactorisedObjective, "conditional": ConditionalObjective}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_all_experts_give_the_objective_itself_to_the_last_bit(name: str) -> None:
    part, whole = make(name)(theta_of(GP)), PLAIN[name](KERNEL, TENSORS, SerialEngine())(theta_of(GP))
    assert part[0] == whole[0]
    np.testing.assert_array_equal(part[1], whole[1])
    assert part[0] == pytest.approx(reference_terms(name).sum(), rel=1e-10)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_terms_are_those_of_the_experts_on_every_engine(name: str) -> None:
    objective = make(name)
    terms = objective.terms(theta_of(GP))
    np.testing.assert_allclose(terms, reference_terms(name), rtol=1e-10)
    threads = make_objective(name, KERNEL, TENSORS, 75, ThreadEngine(3))
    np.testing.assert_array_equal(threads.terms(theta_of(GP)), terms)
    for chosen in (slice(1, None), slice(2, None), slice(0, 1)):
        np.testing.assert_array_equal(objective.terms(theta_of(GP), chosen), terms[chosen])
    assert objective.n_rows == 75


def test_some_experts_stand_for_all_by_their_share_of_the_rows() -> None:
    value, gradient = make("factorised", 2, 75)(theta_of(GP))
    assert value == pytest.approx(75 / 50 * reference_terms("factorised")[:2].sum(), rel=1e-10)
    _, unscaled = make("factorised", 2, 50)(theta_of(GP))
    np.testing.assert_allclose(gradient, 1.5 * unscaled, rtol=1e-12)


def test_the_communication_expert_stands_for_itself_where_others_are_conditioned_on_it() -> None:
    terms = reference_terms("conditional")
    value, gradient = make("conditional", 2, 75)(theta_of(GP))
    assert value == pytest.approx(terms[0] + 45 / 20 * terms[1], rel=1e-10)
    _, without_weight = make("conditional", 2, 50)(theta_of(GP))
    _, own = make("conditional", 1, 30)(theta_of(GP))
    np.testing.assert_allclose(gradient, own + 45 / 20 * (without_weight - own), rtol=1e-9)


def test_the_communication_expert_alone_stands_for_all() -> None:
    value, gradient = make("conditional", 1, 75)(theta_of(GP))
    expected, by_parameters = make("factorised", 1, 75)(theta_of(GP))
    assert value == expected == pytest.approx(75 / 30 * reference_terms("conditional")[0], rel=1e-10)
    np.testing.assert_array_equal(gradient, by_parameters)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_priors_count_once(name: str) -> None:
    kernel = ScaleKernel(RBFKernel(lengthscale_prior=NormalPrior(0.5, 0.1)))
    with_prior, without = KernelFunction(kernel), KernelFunction(ScaleKernel(RBFKernel()))
    theta = np.append(without.start, np.log(0.1))
    differences = []
    for n_experts, n_rows in ((2, 75), (3, 75)):
        (a, slope_a), (b, slope_b) = (make(name, n_experts, n_rows, f)(theta) for f in (with_prior, without))
        differences.append(np.append(slope_a - slope_b, a - b))
    assert np.abs(differences[0]).max() > 1e-3
    np.testing.assert_allclose(differences[0], differences[1], rtol=1e-7, atol=1e-10)
