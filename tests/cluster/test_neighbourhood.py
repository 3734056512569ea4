"""Neighbourhood experts on a cluster give the numbers of one machine, and rows travel once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dying_workers import counting, killing_once
from far_rows import POINTS, SETTINGS, X, Y
from gpcommittee import CommitteeRegressor
from gpcommittee._on_cluster import left_out_scale_on_cluster
from gpcommittee.aggregation import Neighbourhood
from gpcommittee.cluster import Cluster
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.prediction.neighbourhood import leave_one_out, left_out_rows
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray

SMALL = Neighbourhood(n_rows=60, leaf_size=8)
WITH_ALL_COMMUNICATION = Neighbourhood(n_rows=100, leaf_size=25, communication=500)
LARGE_LEAVES = Neighbourhood(n_rows=10, leaf_size=30)
LOCAL: dict[str, Any] = {**SETTINGS, "expert_size": 60, "optimizer": None, "calibration": "loo"}

_generator = np.random.default_rng(1)
REPEATED = _generator.integers(-3, 4, (400, 2)) / 2.0
CLUSTERS = np.repeat([[-8.0, 0.0], [0.0, 0.0], [0.0, 0.2], [30.0, 5.0]], 90, axis=0)
CLUSTERS = CLUSTERS + 0.1 * _generator.standard_normal((360, 2)) * np.repeat([1.0, 0.1, 1.0, 9.0], 90)[:, None]
BETWEEN = _generator.uniform([-9, -1], [32, 7], (50, 2))


def target(inputs: FloatArray) -> FloatArray:
    noise = 0.1 * np.random.default_rng(2).standard_normal(len(inputs))
    found: FloatArray = np.sin(2 * inputs).sum(axis=1) + noise
    return found


def both(client: Any, inputs: FloatArray, **settings: Any) -> tuple[CommitteeRegressor, CommitteeRegressor]:
    """Fitted on the cluster, and on one machine."""
    y = target(inputs)
    there = CommitteeRegressor(engine=client, **{**LOCAL, **settings}).fit(inputs, y)
    return there, CommitteeRegressor(**{**LOCAL, **settings}).fit(inputs, y)


def assert_equal(models: tuple[CommitteeRegressor, CommitteeRegressor], points: FloatArray, *rules: Any) -> None:
    for rule in rules:
        (a,), (b,) = (model.predict_rules(points, [rule]) for model in models)
        for name in ("mean", "var_latent", "var_noisy"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=1e-12, err_msg=str(rule))
        np.testing.assert_allclose(models[0].predict(points, aggregation=rule), a.mean, rtol=1e-10, atol=1e-12)


def scale_here(model: CommitteeRegressor, rule: Neighbourhood) -> float:
    store = model._current_store().neighbourhood(rule)
    rows, committee = left_out_rows(store.leaves), store.committee
    mean, variance, _, noise = leave_one_out(rule.blend, store, rows, SerialEngine(), SilentReporter())
    errors = committee.y[store.leaves.numbers[rows]].double().numpy(force=True) - mean
    squares = errors**2 / (variance + noise * committee.noise_variance)
    return float((squares.sum() + 50) / (len(squares) + 50))


def scale_there(client: Any, model: CommitteeRegressor, rule: Neighbourhood) -> float:
    rows = model._rows_on(Cluster(client))
    return left_out_scale_on_cluster(rows, model._model(), rule, SilentReporter(), None)


@pytest.mark.parametrize("cluster", ["client", "four"])
@pytest.mark.parametrize(
    "rule",
    [SMALL, Neighbourhood(n_rows=60, leaf_size=8, communication=15, blend=1.0), Neighbourhood(n_rows=300)],
    ids=str,
)
def test_two_and_four_workers_agree_with_one_machine(
    cluster: str, rule: Neighbourhood, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(cluster)
    models = both(client, X)
    assert_equal(models, POINTS, rule)
    assert scale_there(client, models[0], rule) == pytest.approx(scale_here(models[1], rule), rel=1e-10)


@pytest.mark.parametrize(
    ("inputs", "points"), [(REPEATED, REPEATED[:40] + 0.25), (CLUSTERS, BETWEEN)], ids=["repeated", "clusters"]
)
def test_repeated_rows_and_gaps_agree(client: Any, inputs: FloatArray, points: FloatArray) -> None:
    models = both(client, inputs)
    for rule in (
        SMALL,
        Neighbourhood(n_rows=100, leaf_size=25, communication=500),
        Neighbourhood(n_rows=10, leaf_size=30),
    ):
        assert_equal(models, np.concatenate([points, inputs[:30]]), rule)
        assert scale_there(client, models[0], rule) == pytest.approx(scale_here(models[1], rule), rel=1e-10)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({}, "neighbourhood"),
        ({}, Neighbourhood(n_rows=50, leaf_size=1000)),
        ({"n_experts": 1, "expert_size": None}, SMALL),
    ],
    ids=["exact", "one leaf", "one expert"],
)
def test_rows_that_one_worker_takes_agree(client: Any, settings: dict[str, Any], rule: Any) -> None:
    models = both(client, X, **settings)
    assert_equal(models, POINTS, rule)
    chosen = Neighbourhood() if isinstance(rule, str) else rule
    assert scale_there(client, models[0], chosen) == pytest.approx(scale_here(models[1], chosen), rel=1e-10)


def test_single_precision_agrees(client: Any) -> None:
    models = both(client, X, dtype="float32")
    for a, b in zip(*(model.predict_rules(POINTS, [SMALL]) for model in models), strict=True):
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-5)
        np.testing.assert_allclose(a.var_noisy, b.var_noisy, rtol=1e-4)


def test_held_out_rows_and_batches_agree(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    models = both(client, X, calibration="held_out")
    monkeypatch.setattr("gpcommittee.cluster.neighbourhood.on_shards.MANY_POINTS", 25)
    assert_equal(models, POINTS, SMALL)
    assert len(models[0].predict(POINTS[:0], aggregation=SMALL)) == 0


@pytest.mark.parametrize(("work", "at"), [("halo", 2), ("predict", 1)])
def test_a_killed_worker_changes_nothing(client: Any, monkeypatch: pytest.MonkeyPatch, work: str, at: int) -> None:
    models = both(client, X)
    with killing_once(client, counting(monkeypatch, work), at) as killed:
        found = models[0].predict(POINTS, return_std=True, aggregation=SMALL)
    assert killed
    np.testing.assert_allclose(found, models[1].predict(POINTS, return_std=True, aggregation=SMALL), rtol=1e-10)


def test_rows_are_prepared_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = CommitteeRegressor(engine=client, **LOCAL).fit(X, Y)
    cuts = counting(monkeypatch, "cut")
    model.predict(POINTS, aggregation=SMALL)
    n_shards = cuts()
    model.predict(POINTS, return_std=True, aggregation=SMALL)
    scale_there(client, model, SMALL)
    assert cuts() == n_shards > 1
    model.predict(POINTS, aggregation=Neighbourhood(n_rows=80, leaf_size=8))
    assert cuts() == 2 * n_shards


@pytest.mark.parametrize("rule", [SMALL, Neighbourhood()], ids=str)
def test_partitions_are_predicted_into_files(client: Any, tmp_path: Path, rule: Neighbourhood) -> None:
    model = CommitteeRegressor(engine=client, **LOCAL).fit(X, Y)
    (tmp_path / "points").mkdir()
    for number in range(3):
        some = POINTS[20 * number : 20 * number + 20]
        pq.write_table(pa.table({"a": some[:, 0], "b": some[:, 1]}), tmp_path / "points" / f"{number}.parquet")
    model.predict_partitions(tmp_path / "points", tmp_path / "out", rule)
    tables = [pq.read_table(file) for file in sorted((tmp_path / "out").glob("*.parquet"))]
    found = [np.concatenate([table[name].to_numpy() for table in tables]) for name in ("mean", "std")]
    np.testing.assert_allclose(found, model.predict(POINTS, return_std=True, aggregation=rule), rtol=1e-10)


@pytest.mark.parametrize("rule", [SMALL, Neighbourhood()], ids=str)
def test_experts_that_no_worker_can_factor_are_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch, rule: Neighbourhood
) -> None:
    models = both(client, X, memory_budget=1e-6)
    found, expected = (model.predict(POINTS, aggregation=rule) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    monkeypatch.setattr(Cluster, "memory_per_thread", lambda self: 1e4)
    with pytest.raises(MemoryBudgetError, match=r"Neighbourhood experts of .* rows need"):
        models[0].predict(POINTS, aggregation=rule)
