"""The conditional objective, as the estimator offers it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import CheckpointError, InvalidParameterError
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.records import FloatArray
from gpcommittee.training import ConditionalObjective

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(-1, 1, (900, 2))
Y = np.sin(6 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * GENERATOR.standard_normal(900)
pytestmark = pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")


def fitted(**settings: Any) -> CommitteeRegressor:
    defaults = {
        "kernel": "squared_exponential",
        "expert_size": 30,
        "communication_size": 60,
        "random_state": 0,
        "n_jobs": 1,
        "objective": "conditional",
    }
    return CommitteeRegressor(**{**defaults, **settings}).fit(X, Y)


def both(model: CommitteeRegressor) -> FloatArray:
    mean, std = model.predict(X[:25], return_std=True)
    return np.stack([mean, std])


@pytest.fixture(scope="module")
def staged() -> CommitteeRegressor:
    return fitted()


@pytest.fixture(scope="module")
def on_all() -> CommitteeRegressor:
    return fitted(training_experts="all")


def theta(model: CommitteeRegressor) -> FloatArray:
    point = model.committee_.hyperparameters
    return np.append(point.kernel, point.log_noise_variance)


def objective_of(model: CommitteeRegressor) -> ConditionalObjective:
    blocks = [model.committee_.block(expert) for expert in range(model.committee_.n_experts)]
    return ConditionalObjective(model.committee_.kernel, blocks, SerialEngine())


def test_training_on_all_experts_minimises_the_objective(on_all: CommitteeRegressor) -> None:
    value, gradient = objective_of(on_all)(theta(on_all))
    assert on_all.training_ is not None
    assert on_all.training_.objective == value
    assert np.abs(gradient).max() < 900 * 1e-3
    factorised = fitted(objective="factorised", training_experts="all")
    assert value < objective_of(on_all)(theta(factorised))[0]


def test_some_experts_are_nearly_enough(staged: CommitteeRegressor, on_all: CommitteeRegressor) -> None:
    assert staged.training_ is not None
    sizes = [stage.n_experts for stage in staged.training_.stages]
    assert sizes[0] == 4
    assert sizes[-1] <= 29
    lacking = objective_of(on_all)(theta(staged))[0] - objective_of(on_all)(theta(on_all))[0]
    assert lacking < 900 * 2e-3
    error = both(staged)[0] - both(on_all)[0]
    assert np.abs(error).max() < 0.2 * both(on_all)[1].min()


def test_same_seed_same_bits_whatever_the_number_of_jobs(staged: CommitteeRegressor) -> None:
    threads = fitted(n_jobs=3)
    np.testing.assert_array_equal(theta(threads), theta(staged))
    np.testing.assert_array_equal(both(threads), both(staged))


def test_a_killed_fit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    path, limit = tmp_path / "fit.jsonl", {"max_evaluations": 6}
    whole = fitted(**limit)
    fitted(**limit, checkpoint=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert whole.training_ is not None
    for n_left in (1, len(lines) // 2):
        path.write_bytes(b"".join(lines[: 1 + n_left]))
        resumed = fitted(**limit, checkpoint=path)
        assert resumed.training_ is not None
        assert resumed.training_.reused == n_left
        np.testing.assert_array_equal(theta(resumed), theta(whole))
        np.testing.assert_equal(vars(replace(resumed.training_, reused=0)), vars(whole.training_))
    with pytest.raises(CheckpointError, match="another fit"):
        fitted(**limit, checkpoint=path, objective="factorised")


def test_a_model_file_keeps_the_objective(staged: CommitteeRegressor, tmp_path: Path) -> None:
    staged.save(tmp_path / "new.gpc")
    assert CommitteeRegressor.load(tmp_path / "new.gpc").objective == "conditional"
    arrays, manifest = read_model_file(tmp_path / "new.gpc")
    manifest = {key: manifest[key] for key in manifest.keys() - {"format", "schema_version", "libraries", "digest"}}
    del manifest["settings"]["objective"]
    write_model_file(tmp_path / "old.gpc", arrays, manifest)
    assert CommitteeRegressor.load(tmp_path / "old.gpc").objective == "factorised"


@pytest.mark.parametrize("value", ["exact", None, 1])
def test_an_unknown_objective_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match="objective must be one of"):
        fitted(objective=value)


@pytest.mark.parametrize("settings", [{"n_experts": 1}, {"n_experts": 2}, {"training_experts": 1, "expert_size": 30}])
def test_few_experts(settings: dict[str, Any]) -> None:
    sizes = {"expert_size": None, "communication_size": None} | settings
    model = CommitteeRegressor(objective="conditional", random_state=0, n_jobs=1, **sizes).fit(X[:200], Y[:200])
    assert model.training_ is not None
    assert np.isfinite(model.training_.objective)


def test_two_experts_are_trained_as_the_exact_process_on_all_rows() -> None:
    settings: dict[str, Any] = {"random_state": 0, "n_jobs": 1, "objective": "conditional"}
    one, two = (CommitteeRegressor(n_experts=n, **settings).fit(X[:200], Y[:200]) for n in (1, 2))
    assert one.training_ is not None
    assert two.training_ is not None
    assert two.training_.objective == pytest.approx(one.training_.objective, rel=1e-6)
    np.testing.assert_allclose(theta(two), theta(one), rtol=1e-2, atol=1e-2)


def test_the_papers_configuration_is_factorised() -> None:
    assert paper_committee(4).objective == "factorised"
