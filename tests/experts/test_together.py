from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from committees import committee_of, random_blocks
from gpcommittee.experts import (
    AugmentedFactor,
    BaseFactor,
    Committee,
    augmented_moments,
    base_moments,
    factor_augmented,
    factor_augmented_together,
    factor_base,
    factor_base_together,
    project,
    stack_augmented,
    stack_base,
)
from gpcommittee.records import Moments
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
assert_equal = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-12)


def committee_on(device: torch.device, sizes: list[int]) -> Committee:
    return committee_of(GP, random_blocks(sizes, 2, seed=0)).on(device)


def points(device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).uniform(-3, 3, (25, 2))).to(device)


def assert_close(found: Moments, row: int, alone: Moments) -> None:
    assert_equal(found.mean[row], alone.mean)
    assert_equal(found.var_latent[row], alone.var_latent)


@pytest.mark.parametrize("sizes", [[40, 25, 25, 25], [20, 30, 28, 29, 30]], ids=["equal", "filled up"])
def test_factors_and_moments_of_a_batch_equal_those_one_by_one(sizes: list[int], device: torch.device) -> None:
    committee, x = committee_on(device, sizes), points(device)
    prior, experts = committee.prior_variance(x), range(1, len(sizes))
    communication = factor_base(committee, 0)
    projection = project(committee, communication, x, prior)
    base = [one for one in factor_base_together(committee, experts) if one is not None]
    augmented = [one for one in factor_augmented_together(committee, communication, experts) if one is not None]
    of_base = base_moments(committee, stack_base(base), x, prior)
    of_augmented = augmented_moments(committee, stack_augmented(augmented), projection, x, prior)
    assert len(base) == len(augmented) == len(experts)
    for row, expert in enumerate(experts):
        alone, with_communication = factor_base(committee, expert), factor_augmented(committee, communication, expert)
        for name in ("X", "lower", "weights"):
            assert_equal(getattr(base[row], name), getattr(alone, name))
            assert_equal(getattr(augmented[row], name), getattr(with_communication, name))
        assert_equal(augmented[row].coupling, with_communication.coupling)
        assert_close(of_base, row, base_moments(committee, alone, x, prior))
        assert_close(of_augmented, row, augmented_moments(committee, with_communication, projection, x, prior))


def test_a_factor_holds_memory_of_its_own(device: torch.device) -> None:
    committee = committee_on(device, [20, 30, 28])
    communication = factor_base(committee, 0)
    together: list[BaseFactor | AugmentedFactor | None] = [
        *factor_base_together(committee, [1, 2]),
        *factor_augmented_together(committee, communication, [1, 2]),
    ]
    for factor, rows in zip(together, [30, 28, 30, 28], strict=True):
        assert factor is not None
        assert factor.lower.untyped_storage().nbytes() == 8 * rows**2


def test_an_expert_that_cannot_be_factored_is_left_out(device: torch.device) -> None:
    rough = NaiveGP(np.array([0.01, 0.01]), 1.0, 1e-20)
    blocks = random_blocks([20, 30, 30, 29], 2, seed=0)
    blocks[2] = (np.repeat(blocks[2][0][:1], 30, axis=0), blocks[2][1])
    committee = committee_of(rough, blocks).on(device)
    communication = factor_base(committee, 0)
    assert [one is None for one in factor_base_together(committee, [1, 2, 3])] == [False, True, False]
    augmented = factor_augmented_together(committee, communication, [1, 2, 3])
    assert [one is None for one in augmented] == [False, True, False]
    assert augmented[2] is not None
    assert_equal(augmented[2].lower, factor_augmented(committee, communication, 3).lower)


def test_a_batch_with_a_communication_factor_in_float64(device: torch.device) -> None:
    double = committee_on(device, [20, 30, 28])
    single = replace(double, kernel=double.kernel.as_type(torch.float32), X=double.X.float(), y=double.y.float())
    communication = factor_base(single.as_type(torch.float64), 0)
    for factor in factor_augmented_together(single, communication, [1, 2]):
        assert factor is not None
        assert factor.lower.dtype == torch.float64
