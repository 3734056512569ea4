"""Sums of shards, and how they come together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from committees import identity_scaling, variances
from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, Barycenter, Context, Term, finish
from gpcommittee.aggregation.accumulator import empty, side_by_side, single
from gpcommittee.cluster.predict import _merged, _own_part, _shard_part
from gpcommittee.cluster.worker import Model
from gpcommittee.engines import SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import PartitionSizes, partition_rows
from gpcommittee.prediction import FactorStore, predict_rules, stream
from gpcommittee.progress import SilentReporter
from gpcommittee.records import Hyperparameters, Shard


@pytest.mark.parametrize("rule", [GRBCM(), RBCM(), BCM(level="observation"), Barycenter()], ids=str)
def test_parts_of_shards_make_the_sum_of_one_machine(rule: AdditiveRule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK", 16)
    generator = np.random.default_rng(0)
    X = generator.uniform(-3, 3, (400, 2))
    y = np.sin(2 * X).sum(axis=1)
    partition = partition_rows(X, "tree", PartitionSizes(20, 20), 0)
    kernel = KernelFunction(make_kernel("matern32", 2))
    X, y, offsets = X[partition.order], y[partition.order], partition.offsets
    theta = Hyperparameters(kernel.start, float(np.log(0.01)))
    whole = Committee(kernel, theta, torch.from_numpy(X), torch.from_numpy(y), offsets)
    points, scaling = generator.uniform(-3.5, 3.5, (150, 2)), identity_scaling(2)
    store = FactorStore(whole, 1e9, calibrated=True)
    expected = predict_rules(store, scaling, points, [rule], SerialEngine(), SilentReporter())[0]

    model = Model(kernel, theta, scaling, True, "cpu")
    own = X[: offsets[1]], y[: offsets[1]]
    parts = [_own_part(model, [rule], points, own)]
    for first, stop in ((1, 6), (6, 13), (13, 20)):
        rows = slice(offsets[first], offsets[stop])
        shard = Shard(X[rows], y[rows], offsets[first : stop + 1] - offsets[first], first)
        parts.append(_shard_part(model, [rule], points, own, shard, (0, stop - first)))
    sums = _merged(*parts)
    context = sums.context
    assert isinstance(context, Context)
    found = finish(rule, sums.totals[0], context)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.dispersion * found.var_latent, variances(expected)[0], rtol=1e-8)


def test_sums_at_points_one_after_another_are_joined() -> None:
    def term(value: float) -> Term:
        return Term(*[torch.full((2,), value, dtype=torch.float64)] * 6)

    together = side_by_side([single(term(2.0)), single(term(3.0))])
    assert together.count == 1
    assert together.precision.tolist() == [4, 4, 9, 9]
    assert together.lead is not None
    assert together.lead.precision.tolist() == [2, 2, 3, 3]
    nothing = empty(torch.zeros(3, dtype=torch.float64))
    assert side_by_side([nothing, nothing]).lead is None
