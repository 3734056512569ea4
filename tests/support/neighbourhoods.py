"""Predictions by neighbourhood experts, and the same written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from committees import Blocks, committee_of, identity_scaling
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.engines import Engine, SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.prediction import FactorStore, predict_rules
from gpcommittee.prediction.neighbourhood import Leaves, find_leaves
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, OwnVariances, Prediction
from naive import NaiveGP
from naive_neighbourhood import NaiveNeighbourhoods


def predicted(
    committee: Committee,
    rule: Neighbourhood,
    x: FloatArray,
    *,
    calibrated: bool = True,
    budget: float = 1e9,
    engine: Engine | None = None,
    mean_only: bool = False,
) -> Prediction:
    """What a new store says of some points."""
    store = FactorStore(committee, budget, calibrated)
    [found] = predict_rules(
        store,
        identity_scaling(x.shape[1]),
        x,
        [rule],
        engine or SerialEngine(),
        SilentReporter(),
        mean_only=mean_only,
    )
    return found


def moments(prediction: Prediction) -> FloatArray:
    """Mean, latent variance and variance of an observation, shape (3, n_points)."""
    assert prediction.var_latent is not None
    assert prediction.var_noisy is not None
    return np.stack([prediction.mean, prediction.var_latent, prediction.var_noisy])


def leaves_of(committee: Committee, rule: Neighbourhood) -> Leaves:
    return find_leaves(committee, rule.sizes(int(committee.offsets[-1]), committee.n_experts, committee.X.shape[1]))


def own_committee(gp: NaiveGP, blocks: Blocks, signal: FloatArray, noise: FloatArray) -> Committee:
    """Experts with variances of their own, as multiples of the shared ones."""
    return replace(committee_of(gp, blocks), own=OwnVariances(signal, noise))


def written_out(gp: NaiveGP, committee: Committee, rule: Neighbourhood) -> NaiveNeighbourhoods:
    """The slow form of a committee's experts, on the same leaves."""
    found = leaves_of(committee, rule)
    X, y = committee.X.numpy(), committee.y.numpy()
    leaves = [found.own(leaf) for leaf in range(found.n_leaves)]
    plain = NaiveNeighbourhoods(gp, X, y, leaves, found.sizes.n_rows, found.sizes.communication)
    if committee.own is None:
        return plain
    sizes, first = np.diff(committee.offsets), int(committee.offsets[1])
    experts = np.repeat(np.arange(len(sizes)), sizes)
    others = np.arange(first, len(y))
    # Rows of the communication set have the variances of the expert whose row is nearest.
    for i in range(first if len(others) else 0):
        experts[i] = experts[others[plain.distances(others, X[i]).argmin()]]
    own = committee.own
    return replace(plain, signal=own.signal[experts], noise=(own.noise / own.signal)[experts])
