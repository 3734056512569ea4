"""Sums of the nearest experts from shards, whose experts are near to some groups of points alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from committees import identity_scaling, variances
from gpcommittee.aggregation import BCM, GRBCM, RBCM, AdditiveRule, Context, Term, finish
from gpcommittee.aggregation.accumulator import at_points, empty, side_by_side, single
from gpcommittee.cluster.nearest import grouped
from gpcommittee.cluster.predict import _merged, _own_part, _shard_part
from gpcommittee.cluster.sums import PartialSum, merged
from gpcommittee.cluster.worker import Model
from gpcommittee.engines import SerialEngine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.partition import PartitionSizes, partition_rows
from gpcommittee.prediction import FactorStore, neighbourhood, predict_rules
from gpcommittee.prediction.boxes import boxes_around
from gpcommittee.progress import SilentReporter
from gpcommittee.records import Hyperparameters, Shard


@pytest.mark.parametrize("rule", [GRBCM(), RBCM(), BCM(level="observation")], ids=str)
def test_parts_of_shards_make_the_sum_of_one_machine(rule: AdditiveRule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "GROUP", 16)
    generator = np.random.default_rng(0)
    X = generator.uniform(-3, 3, (400, 2))
    y = np.sin(2 * X).sum(axis=1)
    partition = partition_rows(X, "tree", PartitionSizes(20, 20), 0)
    kernel = KernelFunction(make_kernel("matern32", 2))
    X, y, offsets = X[partition.order], y[partition.order], partition.offsets
    theta = Hyperparameters(kernel.start, float(np.log(0.01)))
    whole = Committee(kernel, theta, torch.from_numpy(X), torch.from_numpy(y), offsets)
    points, scaling, k = generator.uniform(-3.5, 3.5, (150, 2)), identity_scaling(2), 4
    store = FactorStore(whole, 1e9, calibrated=True)
    expected = predict_rules(store, scaling, points, [rule], SerialEngine(), SilentReporter(), n_nearest=k)[0]

    model = Model(kernel, theta, scaling, True, "cpu", k, boxes_around(whole))
    own = X[: offsets[1]], y[: offsets[1]]
    groups = grouped(model, [rule], points, own)
    parts = [_own_part(model, [rule], points, own, groups)]
    for first, stop in ((1, 6), (6, 13), (13, 20)):
        rows = slice(offsets[first], offsets[stop])
        shard = Shard(X[rows], y[rows], offsets[first : stop + 1] - offsets[first], first)
        parts.append(_shard_part(model, [rule], points, own, groups, shard, (0, stop - first)))
    sums = _merged(*parts)
    context = sums.context
    assert isinstance(context, Context)
    found = finish(rule, sums.totals[0].at(torch.arange(len(points))), context)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.dispersion * found.var_latent, variances(expected)[0], rtol=1e-8)


def test_points_without_a_term_stay_in_their_place() -> None:
    def term(value: float) -> Term:
        return Term(*[torch.full((2,), value, dtype=torch.float64)] * 6)

    nothing = empty(torch.zeros(3, dtype=torch.float64))
    together = side_by_side([nothing, single(term(2.0)), nothing])
    assert together.count == 1
    assert together.precision.tolist() == [0, 0, 0, 4, 4, 0, 0, 0]
    assert together.lead is not None
    assert together.lead.precision.tolist() == [0, 0, 0, 2, 2, 0, 0, 0]
    assert side_by_side([nothing, nothing]).lead is None
    back = at_points(together, torch.tensor([4, 0]))
    assert back.lead is not None
    assert (back.precision.tolist(), back.lead.weight.tolist()) == ([4, 0], [2, 0])


def test_sums_at_some_points_are_merged_where_they_are() -> None:
    def part(points: list[int], values: list[float]) -> PartialSum:
        term = Term(*[torch.tensor(values, dtype=torch.float64)] * 6)
        return PartialSum(torch.tensor(points), single(term))

    both = merged(part([1, 4], [2.0, 3.0]), part([0, 4], [1.0, 5.0]))
    assert both.points.tolist() == [0, 1, 4]
    assert both.total.precision.tolist() == [1, 4, 34]
    assert both.total.lead is not None
    assert both.total.lead.precision.tolist() == [1, 2, 5]
    assert both.total.count == 2
    at_all = both.at(torch.arange(6))
    assert at_all.shift.tolist() == [1, 4, 0, 0, 34, 0]
    nothing = PartialSum(torch.arange(0), empty(torch.zeros(0, dtype=torch.float64)))
    assert merged(nothing, both).total.precision.tolist() == [1, 4, 34]
    together = PartialSum.of([part([3, 5], [1.0, 2.0]), nothing, part([0], [3.0])])
    assert (together.points.tolist(), together.total.precision.tolist()) == ([0, 3, 5], [9, 1, 4])
