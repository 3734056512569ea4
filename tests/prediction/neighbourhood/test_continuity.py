"""Predictions have no jump: along any segment the largest step shrinks with the length of the steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from committees import committee_of
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.prediction.neighbourhood import predict
from gpcommittee.prediction.neighbourhood.shares import Shares
from gpcommittee.records import FloatArray, IntArray, OwnVariances
from naive import NaiveGP
from neighbourhoods import moments, predicted

GP = NaiveGP(np.ones(1), 1.0, 0.01)
SIZES = [30, 60, 60, 50]
N = sum(SIZES)
RULE = Neighbourhood(n_rows=60, leaf_size=12)


def scattered(n_features: int) -> FloatArray:
    return np.random.default_rng(n_features).uniform(-2, 2, (N, n_features))


def duplicated(n_features: int) -> FloatArray:
    """Every row twice or three times."""
    generator = np.random.default_rng(n_features)
    return scattered(n_features)[generator.integers(N // 2, size=N)]


def clustered(n_features: int) -> FloatArray:
    generator = np.random.default_rng(n_features)
    centres = np.array([-2.0, 0.0, 2.0])[generator.integers(3, size=N)]
    return centres[:, None] + 0.2 * generator.standard_normal((N, n_features))


def on_a_grid(n_features: int) -> FloatArray:
    """Rows at equal distances from a point, everywhere."""
    return np.round(2 * scattered(n_features)) / 2 if n_features > 1 else np.round(20 * scattered(1)) / 20


def heaped(n_features: int) -> FloatArray:
    """Five places with more equal rows each than leaves hold, and than vote."""
    generator = np.random.default_rng(n_features)
    return scattered(n_features)[generator.integers(5, size=N)]


PLACES = {
    "scattered": scattered,
    "duplicated": duplicated,
    "clustered": clustered,
    "on a grid": on_a_grid,
}


def committee(X: FloatArray, *, own: bool) -> Committee:
    """Experts of neighbouring rows, beside a random communication set; noise that grows along the first input."""
    generator = np.random.default_rng(0)
    rest = SIZES[0] + np.argsort(X[SIZES[0] :, 0], kind="stable")
    X = X[np.concatenate([np.arange(SIZES[0]), rest])]
    y = np.sin(2 * X).sum(axis=1) + np.where(X[:, 0] > 0, 0.3, 0.05) * generator.standard_normal(N)
    kernel = KernelFunction(make_kernel("matern32", X.shape[1]))
    plain = committee_of(GP, [(X[:1, :1], y[:1])])
    return replace(
        plain,
        kernel=kernel,
        hyperparameters=replace(plain.hyperparameters, kernel=kernel.start),
        X=torch.from_numpy(X),
        y=torch.from_numpy(y),
        offsets=np.cumsum([0, *SIZES]),
        own=OwnVariances(np.array([1.0, 0.5, 2.0, 3.0]), np.array([1.0, 4.0, 0.5, 9.0])) if own else None,
    )


def seen(members: Committee, start: FloatArray, stop: FloatArray, along: FloatArray) -> FloatArray:
    """Mean, latent variance, variance of an observation and both deviations on a segment of length 1."""
    found = moments(predicted(members, RULE, start + along[:, None] * (stop - start)))
    return np.vstack([found, np.sqrt(found[1:])])


def sharpest(found: FloatArray) -> int:
    """Where the slope changes most: at a jump, if there is one."""
    bends = np.abs(np.diff(found, n=2, axis=1))
    return int((bends / (bends.max(axis=1, keepdims=True) + 1e-12)).max(axis=0).argmax()) + 1


def has_jump(members: Committee, start: FloatArray, stop: FloatArray) -> bool:
    """Whether steps stay as large as they are when they become shorter, at the sharpest place of a segment.

    Rows at one distance from a point may exchange the last millionth of a weight.
    """
    along = np.linspace(0, 1, 1001)
    found = seen(members, start, stop, along)
    coarse = np.abs(np.diff(found, axis=1)).max(axis=1)
    for length in (1e-4, 1e-5, 1e-6):
        along = along[sharpest(found)] + length * np.arange(-30, 31)
        found = seen(members, start, stop, along)
        fine = np.abs(np.diff(found, axis=1)).max(axis=1)
        if (fine > 10 * coarse * length / 1e-3 + 3e-6).any():
            return True
    return False


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("places", PLACES)
def test_steps_shrink_with_their_length(places: str, n_features: int, own: bool) -> None:
    members = committee(PLACES[places](n_features), own=own)
    generator = np.random.default_rng(n_features)
    X = members.X.numpy()
    ends = [generator.uniform(-2.2, 2.2, (2, n_features)), X[generator.integers(N, size=2)] + 0.01]
    assert not any(has_jump(members, start, stop) for start, stop in ends)


COMMITTEES = [committee(scattered(2), own=own) for own in (False, True)]


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_borders_of_leaves_are_no_jumps(seed: int) -> None:
    """Where the nearest rows of a point come to be others, anywhere on a line through the data."""
    start, stop = np.random.default_rng(seed).uniform(-2, 2, (2, 2))
    assert not has_jump(COMMITTEES[seed % 2], start, stop)


def test_the_nearest_leaf_alone_would_jump(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a jump is found where there is one."""

    def nearest(distances: FloatArray, leaves: IntArray, blend: float) -> Shares:
        return Shares(leaves[:, :1], np.ones((len(leaves), 1)))

    monkeypatch.setattr(predict, "shares_of", nearest)
    for seed in range(3):
        start, stop = np.random.default_rng(seed).uniform(-2, 2, (2, 2))
        assert has_jump(COMMITTEES[0], start, stop)


@pytest.mark.xfail(reason="Halfway between two places with 17 equal rows each, all that vote change at once.")
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_heaps_of_equal_rows_are_no_jumps(n_features: int) -> None:
    members = committee(heaped(n_features), own=False)
    assert not any(has_jump(members, *ends) for ends in pairwise(np.unique(members.X.numpy(), axis=0)))
