"""Workers die, clients die; the numbers stay the same, and what cannot be helped is told by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dying_workers import counting, killing_once, pids
from far_rows import POINTS, SETTINGS, X, Y, fitted_here, parameters
from gpcommittee import CommitteeRegressor
from gpcommittee.cluster import Cluster, objective, predict
from gpcommittee.errors import NotPositiveDefiniteError, WorkerError

SUPPORT = Path(__file__).parents[1] / "support"


def test_a_worker_killed_during_the_fit_changes_nothing(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with killing_once(client, counting(monkeypatch, "likelihood"), 40) as killed:
        found = CommitteeRegressor(engine=client, **SETTINGS).fit(X, Y)
    assert killed
    np.testing.assert_array_equal(parameters(found), parameters(fitted_here()))


def test_rows_outlive_the_loss_of_all_workers_at_once() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", scheduler_kwargs={"dashboard": False}
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as alone,
    ):
        model = CommitteeRegressor(engine=alone, optimizer=None, **SETTINGS).fit(X, Y)
        model.predict(POINTS)
        (victim,) = pids(alone).values()
        os.kill(victim, signal.SIGKILL)
        expected = fitted_here(optimizer=None).predict(POINTS)
        np.testing.assert_allclose(model.predict(POINTS), expected, rtol=1e-10)


@pytest.mark.parametrize("rule", ["grbcm", "npae"])
def test_a_worker_killed_during_a_prediction_changes_nothing(
    client: Any, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    found = CommitteeRegressor(engine=client, **{**SETTINGS, "optimizer": None}).fit(X, Y)
    work = "merge" if rule == "grbcm" else "npae-finish"
    monkeypatch.setattr(predict, "FAN_IN", 2)
    with killing_once(client, counting(monkeypatch, work), 1) as killed:
        mean, std = found.predict(POINTS, return_std=True, aggregation=rule)
    assert killed
    expected = fitted_here(optimizer=None).predict(POINTS, return_std=True, aggregation=rule)
    np.testing.assert_allclose((mean, std), expected, rtol=1e-10)


def _fails(*_: Any) -> None:
    raise OSError("no space left on device")


def _refuses(*_: Any) -> None:
    raise NotPositiveDefiniteError("expert 3 cannot be factored")


def _dies(*_: Any) -> None:
    os._exit(1)


def test_a_task_that_fails_for_good_names_experts_and_worker(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "_evaluated", _fails)
    with pytest.raises(WorkerError, match=r"Work on .*expert.* failed on worker tcp://\S+: OSError: no space left"):
        CommitteeRegressor(engine=client, **SETTINGS).fit(X, Y)


def test_an_error_of_an_expert_is_no_fault_and_passes_through_what_rests_on_it(client: Any) -> None:
    cluster = Cluster(client)
    refused = cluster.submit("likelihood", "expert 3", _refuses)
    for future in (refused, cluster.submit("merge", "sums of experts", _fails, refused)):
        with pytest.raises(NotPositiveDefiniteError, match="expert 3 cannot be factored"):
            cluster.result(future)


def test_experts_that_kill_every_worker_are_named(client: Any) -> None:
    cluster = Cluster(client)
    before = client.run_on_scheduler(_allow_failures, failures=0)
    try:
        future = cluster.submit("likelihood", "experts 17 to 32", _dies)
        with pytest.raises(WorkerError, match=r"Work on experts 17 to 32 failed: .* died, the last one tcp://"):
            cluster.result(future)
    finally:
        client.run_on_scheduler(_allow_failures, failures=before)
        client.wait_for_workers(2, timeout=180)


def _allow_failures(dask_scheduler: Any, failures: int) -> int:
    before: int = dask_scheduler.allowed_failures
    dask_scheduler.allowed_failures = failures
    return before


CLIENT = """
    import os, signal, sys
    sys.path.insert(0, {support!r})
    from distributed import Client
    from far_rows import SETTINGS, X, Y
    from gpcommittee import CommitteeRegressor
    from gpcommittee.training.checkpoint import EvaluationLog

    add, made = EvaluationLog.add, []

    def killed_at_the_sixth(*arguments):
        add(*arguments)
        made.append(arguments)
        if len(made) == 6:
            os.kill(os.getpid(), signal.SIGKILL)

    EvaluationLog.add = killed_at_the_sixth
    with Client({address!r}) as client:
        CommitteeRegressor(engine=client, checkpoint={log!r}, **SETTINGS).fit(X, Y)
"""


def test_a_killed_client_goes_on_from_its_checkpoint_as_one_machine_would(
    client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "fit.log"
    script = textwrap.dedent(CLIENT.format(support=str(SUPPORT), address=client.scheduler.address, log=str(log)))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr

    found = CommitteeRegressor(engine=client, checkpoint=log, verbose=1, **SETTINGS).fit(X, Y)
    assert found.training_ is not None
    assert found.training_.reused == 6
    np.testing.assert_array_equal(parameters(found), parameters(fitted_here()))
    assert "Reused 6 evaluations from the checkpoint" in capsys.readouterr().err

    here = CommitteeRegressor(checkpoint=log, **SETTINGS).fit(X, Y)
    assert here.training_ is not None
    assert here.training_.reused == here.training_.evaluations
