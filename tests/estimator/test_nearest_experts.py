"""``nearest_experts``: a setting of predictions, which any fit allows to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.baselines import SubsetOfData
from gpcommittee.errors import InvalidParameterError
from gpcommittee.planning import plan_fit
from gpcommittee.records import FloatArray


def data(n_rows: int = 1300) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(0)
    X = generator.uniform(-2, 2, (n_rows, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * generator.standard_normal(n_rows)


def fitted(**settings: Any) -> CommitteeRegressor:
    standard = {"expert_size": 10, "optimizer": None, "random_state": 0, "n_jobs": 1}
    return CommitteeRegressor(**{**standard, **settings}).fit(*data())


@pytest.fixture(scope="module")
def model() -> CommitteeRegressor:
    return fitted()


def moments(model: CommitteeRegressor, nearest: int | str, **settings: Any) -> FloatArray:
    kept = model.get_params()
    try:
        model.set_params(nearest_experts=nearest, calibration="loo", **settings)
        return np.array(model.predict(data(200)[0], return_std=True))
    finally:
        model.set_params(**kept)


def test_the_default_is_64_of_many(model: CommitteeRegressor) -> None:
    assert model.committee_.n_experts == 130
    np.testing.assert_array_equal(moments(model, "auto"), moments(model, 64))
    assert (moments(model, "auto") != moments(model, "all")).any()
    np.testing.assert_array_equal(moments(model, "auto", tolerance=1e-3), moments(model, "all", tolerance=1e-3))


def test_the_default_is_all_of_few_and_of_a_random_partition() -> None:
    for few in (fitted(expert_size=20), fitted(partition="random")):
        np.testing.assert_array_equal(moments(few, "auto"), moments(few, "all"))


def test_calibration_is_that_of_the_same_sum(model: CommitteeRegressor) -> None:
    few = fitted(nearest_experts=2)
    assert few.variance_scales_ != model.variance_scales_
    changed = fitted().set_params(nearest_experts=2)
    np.testing.assert_array_equal(moments(changed, 2), moments(few, 2))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "some", None])
def test_other_values_are_refused(model: CommitteeRegressor, value: Any) -> None:
    with pytest.raises(
        InvalidParameterError, match="nearest_experts must be 'auto', 'all' or an integer of at least 1"
    ):
        fitted(nearest_experts=value)
    with pytest.raises(InvalidParameterError, match="nearest_experts must be"):
        moments(model, value)
    with pytest.raises(InvalidParameterError, match="nearest_experts must be"):
        plan_fit(1000, 2, nearest_experts=value, machine_rate=1e10)


def test_a_random_partition_has_no_nearest_experts() -> None:
    with pytest.raises(InvalidParameterError, match="nearest_experts=3 needs experts that divide the inputs"):
        fitted(partition="random", nearest_experts=3)
    SubsetOfData(100, committee=CommitteeRegressor(nearest_experts=3, optimizer=None)).fit(*data(300))


def test_the_paper_sums_all() -> None:
    assert paper_committee(16).nearest_experts == "all"


def test_it_is_saved(model: CommitteeRegressor, tmp_path: Path) -> None:
    fitted(nearest_experts=7).save(tmp_path / "m.gpc")
    assert CommitteeRegressor.load(tmp_path / "m.gpc").nearest_experts == 7


def test_conformal_scores_are_of_one_number(model: CommitteeRegressor) -> None:
    X, y = data(1400)
    other = fitted().conformalize(X[1300:], y[1300:])
    with pytest.raises(InvalidParameterError, match="with nearest_experts='auto', but it is 3 now"):
        other.set_params(nearest_experts=3).predict_interval(X[:2])


def test_a_plan_counts_them() -> None:
    case: dict[str, Any] = {"n_test": 10_000, "machine_rate": 1e10}
    some, every = (plan_fit(1_000_000, 3, nearest_experts=nearest, **case) for nearest in ("auto", "all"))
    assert (some.n_nearest, every.n_nearest) == (64, None)
    share = some.predict_flops / every.predict_flops
    assert share == pytest.approx(64 / some.n_experts, rel=0.1)
    assert plan_fit(10_000, 3, **case).n_nearest is None
    assert plan_fit(1_000_000, 3, partition="random", **case).n_nearest is None
    assert plan_fit(1_000_000, 3, aggregation="poe", **case).n_nearest is None


def test_a_plan_counts_the_calibration() -> None:
    case: dict[str, Any] = {"machine_rate": 1e10, "n_jobs": 1}
    with_it, without = (plan_fit(100_000, 3, calibration=name, **case) for name in ("held_out", "loo"))
    rows = plan_fit(100_000, 3, n_test=1000, calibration="loo", **case)
    assert with_it.fit_seconds - without.fit_seconds == pytest.approx(rows.predict_seconds)
