from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from committees import committee_of, random_blocks
from gpcommittee.experts import dispersion, factor_augmented, factor_base
from gpcommittee.experts.leave_one_out import PRIOR_ROWS
from naive import Array, NaiveGP, leave_one_out

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
NOTHING = np.empty((0, 2)), np.empty(0)


def drawn_to_one(errors: Array) -> float:
    return float((errors**2).sum() + PRIOR_ROWS) / (len(errors) + PRIOR_ROWS)


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(1, 12), min_size=2, max_size=3), seed=st.integers(0, 50))
def test_it_is_the_error_of_experts_fitted_without_each_row(sizes: list[int], seed: int) -> None:
    blocks = random_blocks(sizes, 2, seed)
    committee = committee_of(GP, blocks)
    communication = factor_base(committee, 0)
    for expert, (X, y) in enumerate(blocks):
        base = dispersion(factor_base(committee, expert))
        assert base == pytest.approx(drawn_to_one(leave_one_out(GP, X, y, *NOTHING)), rel=1e-9)
        if expert > 0:
            augmented = dispersion(factor_augmented(committee, communication, expert))
            assert augmented == pytest.approx(drawn_to_one(leave_one_out(GP, X, y, *blocks[0])), rel=1e-8)


def test_it_is_one_where_the_data_are_as_the_model_says() -> None:
    generator = np.random.default_rng(0)
    X = generator.uniform(-2, 2, (400, 2))
    y = np.linalg.cholesky(GP.k(X, X) + GP.noise_variance * np.eye(400)) @ generator.standard_normal(400)
    assert dispersion(factor_base(committee_of(GP, [(X, y)]), 0)) == pytest.approx(1.0, abs=0.15)


def test_a_target_without_error_leaves_it_above_zero() -> None:
    [(X, y)] = random_blocks([90], 2, seed=0)
    factor = factor_base(committee_of(GP, [(X, np.zeros_like(y))]), 0)
    assert dispersion(factor) == pytest.approx(0.1)


def test_single_precision_gives_nearly_the_same() -> None:
    committee = committee_of(GP, random_blocks([60, 50], 2, seed=3))
    single = replace(committee, kernel=committee.kernel.as_type(torch.float32))
    for expert in (0, 1):
        expected = dispersion(factor_base(committee, expert))
        assert dispersion(factor_base(single, expert)) == pytest.approx(expected, rel=1e-4)
