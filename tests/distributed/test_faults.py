"""A worker that is killed takes no row with it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest

from gpcommittee.distributed import PlacedRows, divide_rows, draw, open_rows, place_rows
from gpcommittee.distributed.cluster import checked_client, gathered
from gpcommittee.errors import InvalidInputError, WorkerError
from gpcommittee.partition import resolve_sizes

dask_array = pytest.importorskip("dask.array", reason="Dask is not installed: pip install gpcommittee[dask]")

generator = np.random.default_rng(2)
X, y = generator.normal(size=(2_000, 2)), generator.normal(size=2_000)
WHOLE = dask_array.from_array(X, chunks=(2_000, 2))


def shards(client: Any) -> PlacedRows:
    source = open_rows(dask_array.from_array(X, chunks=(500, 2)), dask_array.from_array(y, chunks=500))
    return divide_rows(draw(place_rows(client, source), "tree", resolve_sizes(len(X), n_experts=41), 0))


def test_shards_of_a_killed_worker_are_made_again(client: Any) -> None:
    placed = shards(client)
    before = client.gather(list(placed.shards))
    lost = [shard for shard in placed.shards if len(client.who_has([shard])[shard.key]) == 1]
    address = client.who_has([lost[0]])[lost[0].key][0]
    process = client.run(os.getpid, workers=[address])[address]

    os.kill(process, signal.SIGKILL)
    while address in client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)

    for old, new in zip(before, client.gather(list(placed.shards)), strict=True):
        np.testing.assert_array_equal(new.X, old.X)
        np.testing.assert_array_equal(new.y, old.y)
        np.testing.assert_array_equal(new.offsets, old.offsets)
        assert new.first_expert == old.first_expert


def fails(*_: Any) -> None:
    raise RuntimeError("disk is full")


def test_what_no_retry_helps_is_an_error_of_our_own(client: Any) -> None:
    source = open_rows(WHOLE.map_blocks(fails, meta=np.empty((0, 0))), dask_array.ones(2_000))
    with pytest.raises(WorkerError, match=r"Reading the rows failed .* RuntimeError: disk is full"):
        place_rows(client, source)


def test_rows_that_were_let_go_are_an_error_that_says_so(client: Any) -> None:
    placed = shards(client)
    client.cancel(list(placed.shards), force=True)
    with pytest.raises(WorkerError, match=r"^Reading was cancelled, .* a fit has to be made again"):
        gathered(client, placed.shards, "Reading")


def test_a_cluster_that_stays_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("gpcommittee.distributed.cluster.WAIT_SECONDS", 0.2)
    monkeypatch.setattr("gpcommittee.distributed.cluster.WATCH_SECONDS", 0.1)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", scheduler_kwargs={"dashboard": False}
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
        pytest.raises(WorkerError, match=r"has lost all of its workers, .* while experts 3 to 5 waited"),
    ):
        gathered(other, [other.submit(fails, key=("work-1", "experts 3 to 5"))], "Nothing")


def test_an_adaptive_cluster_may_start_without_workers() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", scheduler_kwargs={"dashboard": False}
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="50ms")
        assert checked_client(other) is other


def test_rows_that_cannot_be_used_are_not_tried_again(client: Any) -> None:
    bad = np.where(np.arange(4_000).reshape(2_000, 2) == 7, np.nan, X)
    source = open_rows(dask_array.from_array(bad, chunks=(2_000, 2)), dask_array.ones(2_000))
    with pytest.raises(InvalidInputError, match="column 1 has 1 NaN"):
        place_rows(client, source)


def dies(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_rows_that_kill_every_worker_are_an_error_of_our_own(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_rows(WHOLE.map_blocks(dies, meta=np.empty((0, 0))), dask_array.ones(2_000))
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(WorkerError, match="Reading the rows failed: every worker that tried it died, the last one tcp"):
        place_rows(client, source)
