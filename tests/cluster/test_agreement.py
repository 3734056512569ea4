"""A cluster gives the numbers of one machine, whatever its workers are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from far_rows import POINTS, SETTINGS, X, Y, fitted_here, parameters
from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import RULES
from gpcommittee.cluster import answers
from gpcommittee.errors import InvalidParameterError

EVERY_RULE = tuple(RULES)


def fitted_there(client: Any, **changed: Any) -> CommitteeRegressor:
    return CommitteeRegressor(engine=client, **{**SETTINGS, **changed}).fit(X, Y)


def assert_equal_predictions(found: CommitteeRegressor, expected: CommitteeRegressor, rules: Any = EVERY_RULE) -> None:
    for rule, a, b in zip(rules, *(model.predict_rules(POINTS, rules) for model in (found, expected)), strict=True):
        for name in ("mean", "var_latent", "var_noisy"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10, atol=1e-12, err_msg=str(rule))


@pytest.mark.parametrize(("cluster", "changed"), [("client", {}), ("four", {"training_experts": 5})])
def test_rules_and_hyperparameters_agree(cluster: str, changed: dict[str, Any], request: pytest.FixtureRequest) -> None:
    expected, found = fitted_here(**changed), fitted_there(request.getfixturevalue(cluster), **changed)
    np.testing.assert_array_equal(parameters(found), parameters(expected))  # exact sums: to the last bit
    assert found.training_ is not None
    assert expected.training_ is not None
    np.testing.assert_array_equal(found.training_.path, expected.training_.path)
    np.testing.assert_array_equal(found.partition_.order, expected.partition_.order)
    assert_equal_predictions(found, expected)


@pytest.mark.parametrize(
    "changed",
    [
        {"objective": "conditional"},
        {"kernel": "auto", "partition": "random", "training_experts": 4, "aggregation": "grbcm"},
        {"dtype": "float32", "optimizer": None},
        {"n_experts": 2, "expert_size": None, "calibration": None},
        {"n_experts": 1, "expert_size": None, "training_experts": "all"},
    ],
    ids=str,
)
def test_other_settings_agree(client: Any, changed: dict[str, Any]) -> None:
    expected, found = fitted_here(**changed), fitted_there(client, **changed)
    np.testing.assert_allclose(parameters(found), parameters(expected), rtol=1e-8)
    assert found.kernel_name_ == expected.kernel_name_
    tolerance = 1e-4 if changed.get("dtype") == "float32" else 1e-7
    rules = ["grbcm", "rbcm", "npae"]
    for a, b in zip(*(model.predict_rules(POINTS, rules) for model in (found, expected)), strict=True):
        np.testing.assert_allclose(a.mean, b.mean, atol=tolerance)
        np.testing.assert_allclose(a.var_noisy, b.var_noisy, rtol=tolerance)


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.ConvergenceWarning")
def test_one_machine_goes_on_from_the_log_of_a_comparison_of_kernels(client: Any, tmp_path: Path) -> None:
    """Where the communication set is thinned for it, too."""
    log = tmp_path / "fit.log"
    changed = {"kernel": "auto", "communication_size": 60, "training_experts": 4, "max_evaluations": 4}
    there = fitted_there(client, checkpoint=log, **changed)
    logged = log.read_bytes()
    here = fitted_here(checkpoint=log, **changed)
    assert here.training_ is not None
    assert here.training_.reused == here.training_.evaluations
    assert log.read_bytes() == logged
    assert here.kernel_scores_ == there.kernel_scores_
    assert {score.n_rows for score in here.kernel_scores_.values()} == {120}


def test_variances_of_experts_own_are_refused(client: Any) -> None:
    with pytest.raises(InvalidParameterError, match="expert_variances='own' is not found on a cluster"):
        fitted_there(client, expert_variances="own")


def test_the_rule_is_chosen_by_the_same_scores(client: Any) -> None:
    changed = {"aggregation": "auto", "optimizer": None}
    expected, found = fitted_here(**changed), fitted_there(client, **changed)
    assert found.aggregation_ == expected.aggregation_
    for name, score in expected.aggregation_scores_.items():
        assert found.aggregation_scores_[name].nlpd == pytest.approx(score.nlpd, rel=1e-10)


def test_batches_change_nothing(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, found = fitted_here(optimizer=None), fitted_there(client, optimizer=None)
    monkeypatch.setattr(answers, "BATCH_POINTS", 25)
    assert_equal_predictions(found, expected, ["grbcm", "rbcm", "gpoe", "bcm"])
    np.testing.assert_allclose(found.predict(POINTS), expected.predict(POINTS), rtol=1e-10)
    alone = [model.predict(POINTS, aggregation="communication") for model in (found, expected)]
    np.testing.assert_allclose(alone[0], alone[1], rtol=1e-10)
    assert len(found.predict(POINTS[:0])) == 0


def test_a_model_is_saved_loaded_and_used_on_a_cluster_and_off_it(client: Any, tmp_path: Path) -> None:
    expected, found = fitted_here(optimizer=None), fitted_there(client, optimizer=None)
    found.save(tmp_path / "model.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert loaded.engine is None
    assert_equal_predictions(loaded, expected, ["grbcm"])
    assert_equal_predictions(loaded.set_params(engine=client), expected, ["grbcm", "npae"])
    assert loaded.score(X, Y) == pytest.approx(expected.score(X, Y), rel=1e-10)
    assert_equal_predictions(found.set_params(engine=None), expected, ["grbcm"])


def test_intervals_agree(client: Any) -> None:
    models = [fitted_there(client, optimizer=None), CommitteeRegressor(optimizer=None, **SETTINGS).fit(X, Y)]
    ends = [model.conformalize(POINTS, np.sin(2 * POINTS).sum(axis=1)).predict_interval(X[:50]) for model in models]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-9)
