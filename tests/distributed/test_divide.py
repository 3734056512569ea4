"""Rows on a cluster are divided as on one machine, or nearly so, and the same for any workers and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpcommittee.data import standardisation, standardise_inputs, standardise_target
from gpcommittee.distributed import PlacedRows, divide_rows, draw, open_rows, place_rows, take_rows
from gpcommittee.errors import InvalidParameterError
from gpcommittee.partition import partition_rows, resolve_sizes
from gpcommittee.records import FloatArray

dask_array = pytest.importorskip("dask.array", reason="Dask is not installed: pip install gpcommittee[dask]")

N_ROWS, SEED = 3_000, 5
generator = np.random.default_rng(0)
X = generator.normal(size=(N_ROWS, 3)) * [1.0, 20.0, 0.01] + [0.0, 1e6, 3.0]
X[:, 0] = X[:, 0].round(1)
y = X[:, 0] + generator.normal(size=N_ROWS)
SIZES = resolve_sizes(N_ROWS, n_experts=71, communication_size=90)


def placed_in(client: Any, *chunks: int) -> Any:
    rows = chunks or (N_ROWS // 2, N_ROWS - N_ROWS // 2)
    source = open_rows(dask_array.from_array(X, chunks=(rows, 3)), dask_array.from_array(y, chunks=(rows,)))
    return place_rows(client, source)


def gathered_rows(client: Any, placed: PlacedRows) -> tuple[FloatArray, FloatArray]:
    shards = client.gather(list(placed.shards))
    first = 1
    for shard in shards:
        assert shard.first_expert == first
        np.testing.assert_array_equal(np.diff(shard.offsets), placed.sizes[first : first + shard.n_experts])
        first += shard.n_experts
    assert first == len(placed.sizes)
    rows = [placed.communication_X, *(shard.X for shard in shards)]
    return np.concatenate(rows), np.concatenate([placed.communication_y, *(shard.y for shard in shards)])


def by_rows(inputs: FloatArray, target: FloatArray) -> FloatArray:
    both = np.column_stack([inputs, target])
    return both[np.lexsort(both.T)]


@pytest.mark.parametrize("scales", [None, np.array([3.0, 0.2, 1.0])])
def test_of_few_rows_the_partition_is_the_one_of_one_machine(client: Any, scales: FloatArray | None) -> None:
    placed = placed_in(client, 1_000, 0, 1, 1_999)
    rows = divide_rows(draw(placed, "tree", SIZES, SEED), scales)
    scaling = standardisation(X, y)
    inputs, target = standardise_inputs(X, placed.scaling), standardise_target(y, placed.scaling)
    partition = partition_rows(inputs if scales is None else inputs / scales, "tree", SIZES, SEED)

    np.testing.assert_allclose((rows.scaling.x_mean - scaling.x_mean) / scaling.x_scale, 0.0, atol=1e-14)
    np.testing.assert_allclose(rows.scaling.x_scale, scaling.x_scale, rtol=1e-14)
    np.testing.assert_array_equal(rows.sizes, partition.sizes)
    assert len(rows.shards) == 32
    shard_X, shard_y = gathered_rows(client, rows)
    np.testing.assert_array_equal(shard_X, inputs[partition.order])
    np.testing.assert_array_equal(shard_y, target[partition.order])


@pytest.mark.parametrize("method", ["tree", "random"])
def test_from_a_sample_no_row_is_lost_and_sizes_are_near_the_target(
    client: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcommittee.distributed.divide.SAMPLE_ROWS", 500)
    monkeypatch.setattr("gpcommittee.distributed.divide.SAMPLE_ROWS_PER_SHARD", 100)
    placed = placed_in(client, 1_250, 1_750)
    drawn = draw(placed, method, SIZES, SEED)
    rows = divide_rows(drawn)

    inputs = standardise_inputs(X, placed.scaling)
    np.testing.assert_array_equal(drawn.communication, partition_rows(inputs, "random", SIZES, SEED).rows(0))
    np.testing.assert_array_equal(drawn.communication_X, inputs[drawn.communication])
    np.testing.assert_array_equal(
        by_rows(*gathered_rows(client, rows)), by_rows(inputs, standardise_target(y, placed.scaling))
    )
    np.testing.assert_allclose(rows.sizes[1:], (N_ROWS - 90) / 70, rtol=0.1)
    assert rows.sizes.sum() == N_ROWS


@pytest.mark.parametrize("method", ["tree", "random"])
def test_neither_workers_nor_blocks_change_a_shard(client: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpcommittee.distributed.divide.SAMPLE_ROWS", 600)
    monkeypatch.setattr("gpcommittee.distributed.divide.SAMPLE_ROWS_PER_SHARD", 100)
    monkeypatch.setattr("gpcommittee.distributed.place.merged_standardisation", lambda *_: standardisation(X, y))
    one = gathered_rows(client, divide_rows(draw(placed_in(client, 3_000), method, SIZES, SEED)))
    monkeypatch.setattr("gpcommittee.distributed.shuffle.worker_slots", lambda client: ["tcp://127.0.0.1:1"])
    many = gathered_rows(client, divide_rows(draw(placed_in(client, *[300] * 10), method, SIZES, SEED)))
    np.testing.assert_array_equal(many[0], one[0])
    np.testing.assert_array_equal(many[1], one[1])


def test_shards_are_spread_over_the_workers(client: Any) -> None:
    rows = divide_rows(draw(placed_in(client), "tree", SIZES, SEED))
    places = [client.who_has([shard])[shard.key][0] for shard in rows.shards]
    assert min(places.count(place) for place in set(places)) >= 12
    assert len(set(places)) == 2


def test_rows_are_taken_in_their_order(client: Any) -> None:
    placed = placed_in(client, 10, 0, 2_990)
    numbers = np.array([0, 9, 10, 11, 2_999])
    inputs, target = take_rows(placed, numbers)
    np.testing.assert_array_equal(inputs, standardise_inputs(X[numbers], placed.scaling))
    np.testing.assert_array_equal(target, standardise_target(y[numbers], placed.scaling))
    assert take_rows(placed, np.empty(0, dtype=np.int64))[0].shape == (0, 3)


def test_few_experts_are_one_shard_and_one_expert_is_none(client: Any) -> None:
    placed = placed_in(client)
    two = divide_rows(draw(placed, "tree", resolve_sizes(N_ROWS, n_experts=2), SEED))
    assert [len(two.shards), *two.sizes] == [1, 1_500, 1_500]
    three = divide_rows(draw(placed, "random", resolve_sizes(N_ROWS, n_experts=3), SEED))
    assert [len(three.shards), *three.sizes] == [1, 1_000, 1_000, 1_000]
    one = divide_rows(draw(placed, "random", resolve_sizes(N_ROWS, n_experts=1), SEED))
    assert [len(one.shards), *one.sizes] == [0, 3_000]
    np.testing.assert_array_equal(one.communication_X, standardise_inputs(X, placed.scaling))


@pytest.mark.parametrize("method", ["kmeans", "other", np.zeros(3_000, dtype=int)])
def test_what_needs_all_rows_in_one_process_is_refused(client: Any, method: Any) -> None:
    with pytest.raises(InvalidParameterError, match="divided by 'tree' or 'random'"):
        draw(placed_in(client), method, SIZES, SEED)
