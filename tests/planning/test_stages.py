from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor
from gpcommittee.planning.stages import Training, learns_metric, longest_stages, typical_stages

GENERATOR = np.random.default_rng(0)


def sizes_of_a_fit(n_rows: int, n_features: int, n_experts: int, settings: dict[str, Any]) -> list[int]:
    X = GENERATOR.standard_normal((n_rows, n_features))
    y = np.sin(X).sum(axis=1) + 0.1 * GENERATOR.standard_normal(n_rows)
    standard = {"kernel": "squared_exponential", "aggregation": "grbcm", "n_experts": n_experts, "random_state": 0}
    model = CommitteeRegressor(**{**standard, "n_jobs": 1, **settings}).fit(X, y)
    assert model.training_ is not None
    return [stage.n_experts for stage in model.training_.stages]


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")
@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("n_experts", [2, 5, 12])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"partition_metric": "standardised"},
        {"partition": "random"},
        {"training_experts": "all"},
        {"training_experts": 2},
    ],
)
def test_stages_of_few_experts_are_those_of_the_fit(n_features: int, n_experts: int, settings: dict[str, Any]) -> None:
    all_settings = {"partition": "tree", "partition_metric": "learned", "training_experts": "auto"} | settings
    learns = learns_metric(all_settings["partition"], all_settings["partition_metric"], n_experts, n_features)
    planned = typical_stages(Training(all_settings["training_experts"], learns, 100), n_experts)
    found = sizes_of_a_fit(15 * n_experts, n_features, n_experts, {"max_evaluations": 5, **settings})
    assert [stage.n_experts for stage in planned] == found


@pytest.mark.parametrize("n_experts", [1, 8, 9, 50, 4000])
@pytest.mark.parametrize("learns", [True, False])
def test_the_longest_training_uses_all_experts_in_the_end(n_experts: int, learns: bool) -> None:
    stages = longest_stages(Training("auto", learns, 7), n_experts)
    assert stages[-1].n_experts == n_experts
    assert {stage.evaluations for stage in stages} == {7}
    typical = typical_stages(Training("auto", learns, 7), n_experts)
    assert sum(s.n_experts for s in typical) <= sum(s.n_experts for s in stages)


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")
@pytest.mark.parametrize("n_experts", [2, 12, 30])
@pytest.mark.parametrize("settings", [{}, {"partition": "random"}, {"training_experts": 2}])
def test_stages_of_a_fit_that_compares_kernels(n_experts: int, settings: dict[str, Any]) -> None:
    all_settings = {"partition": "tree", "training_experts": "auto"} | settings
    learns = learns_metric(all_settings["partition"], "learned", n_experts, 2)
    training = Training(all_settings["training_experts"], learns, 3, n_kernels=5)
    planned = longest_stages(training, n_experts)
    found = sizes_of_a_fit(15 * n_experts, 2, n_experts, {"kernel": "auto", "max_evaluations": 3, **settings})
    assert [stage.n_experts for stage in planned][: len(found)] == found
    assert [stage.evaluations for stage in planned] == [15] + [3] * (len(planned) - 1)
