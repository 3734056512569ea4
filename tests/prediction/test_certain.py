"""The most certain experts at each test point."""

from __future__ import annotations

import numpy as np
import pytest

from committees import Blocks, committee_of, identity_scaling, random_blocks
from gpcommittee.aggregation import Experts
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.prediction import FactorStore, Request, stream
from gpcommittee.prediction.certain import most_certain
from gpcommittee.progress import SilentReporter
from gpcommittee.records import IntArray
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
BLOCKS = random_blocks([9] * 40, 2, seed=2)
X_TEST = np.random.default_rng(5).uniform(-3, 3, (60, 2))
KINDS = pytest.mark.parametrize("kind", [Experts.BASE, Experts.AUGMENTED])


def ranked(kind: Experts, k: int, blocks: Blocks = BLOCKS, budget: float = 1e9, n_workers: int = 1) -> IntArray:
    store = FactorStore(committee_of(GP, blocks), budget)
    engine = SerialEngine() if n_workers == 1 else ThreadEngine(n_workers)
    return most_certain(kind, k, Request(store.committee, identity_scaling(2), X_TEST), store, engine, SilentReporter())


@KINDS
def test_they_are_those_of_least_variance_in_their_order(kind: Experts) -> None:
    X_c, y_c = BLOCKS[0]
    sets = BLOCKS
    if kind is Experts.AUGMENTED:
        sets = [(np.vstack([X_c, X]), np.append(y_c, y)) for X, y in BLOCKS[1:]]
    of_each = np.array([[GP.latent_moments(X, y, x)[1] for X, y in sets] for x in X_TEST[:20]])
    expected = np.argsort(of_each, axis=1)[:, :5] + (kind is Experts.AUGMENTED)
    np.testing.assert_array_equal(ranked(kind, 5)[:20], expected)


@KINDS
def test_groups_chunks_and_threads_change_nothing(kind: Experts, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ranked(kind, 5)
    np.testing.assert_array_equal(ranked(kind, 5, budget=3e3, n_workers=3), whole)
    np.testing.assert_array_equal(ranked(kind, 2), whole[:, :2])
    monkeypatch.setattr(stream, "CHUNK", 7)
    np.testing.assert_array_equal(ranked(kind, 5), whole)


@KINDS
def test_of_equals_the_lower_number_comes_first(kind: Experts) -> None:
    for row in ranked(kind, 20, [BLOCKS[0], *[BLOCKS[1]] * 20]):
        equals = row[row > 0]
        assert equals[0] == 1
        assert (np.diff(equals) > 0).all()
