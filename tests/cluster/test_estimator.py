"""What a client means to an estimator as an object, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from far_rows import POINTS, SETTINGS, X, Y
from gpcommittee import CommitteeRegressor
from gpcommittee.errors import InvalidParameterError, MemoryBudgetError


def test_clones_share_the_client_and_pickles_leave_it_out(client: Any) -> None:
    model = CommitteeRegressor(engine=client, **SETTINGS, optimizer=None).fit(X, Y)
    copied = clone(model)
    assert copied.engine is client
    assert copied.get_params()["expert_size"] == SETTINGS["expert_size"]
    assert not copied.__sklearn_is_fitted__()
    again = pickle.loads(pickle.dumps(model))
    assert again.engine is None
    np.testing.assert_allclose(again.predict(POINTS), model.predict(POINTS), rtol=1e-10)


def test_model_selection_of_one_process_works(client: Any) -> None:
    scores = [
        cross_val_score(CommitteeRegressor(engine=engine, optimizer=None, **SETTINGS), X, Y, cv=2)
        for engine in (client, None)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9)


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"A dask.distributed.Client is needed, got str"):
        CommitteeRegressor(engine="tcp://127.0.0.1:8786").fit(X, Y)


def test_a_client_need_not_be_the_default(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.client._global_clients", {})
    model = CommitteeRegressor(engine=client, optimizer=None, **SETTINGS).fit(X, Y)
    assert len(model.predict(POINTS)) == len(POINTS)


def test_experts_with_variances_of_their_own_are_refused(client: Any) -> None:
    own = {"expert_variances": "own", "optimizer": None, **SETTINGS}
    model = CommitteeRegressor(**own).fit(X, Y).set_params(engine=client)
    with pytest.raises(InvalidParameterError, match="variances of their own do not predict on a cluster"):
        model.predict(POINTS)


def test_npae_beyond_the_budget_is_refused(client: Any) -> None:
    model = CommitteeRegressor(engine=client, optimizer=None, memory_budget=1e-6, **SETTINGS).fit(X, Y)
    with pytest.raises(MemoryBudgetError, match=r"NPAE needs .* GiB on one worker"):
        model.predict(POINTS, aggregation="npae")


def test_a_device_that_is_none_is_refused(client: Any) -> None:
    with pytest.raises(InvalidParameterError, match="device 'abacus' is no device of a worker"):
        CommitteeRegressor(engine=client, device="abacus", **SETTINGS).fit(X, Y)
