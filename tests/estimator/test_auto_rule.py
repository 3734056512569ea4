"""``aggregation="auto"``: the rule that predicts held-out rows best."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from committees import committee_of, identity_scaling, random_blocks
from gpcommittee import CommitteeRegressor
from gpcommittee._held_out import (
    CANDIDATES,
    ChosenRule,
    HeldOut,
    candidates,
    choose_rule,
    predict_held_out,
)
from gpcommittee.aggregation import RULES, PoE
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts.held_out import FEWEST, MOST, held_out_rows, without
from gpcommittee.metrics import ScoreReport, score_report
from gpcommittee.planning import plan_fit
from gpcommittee.prediction import FactorStore
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Prediction, Standardisation
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)


def data(n_rows: int = 400, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2, 2, (n_rows, 2))
    return X, 5 + 3 * np.sin(3 * X[:, 0]) * X[:, 1] + 0.2 * generator.standard_normal(n_rows)


def regressor(**settings: Any) -> CommitteeRegressor:
    standard = {
        "kernel": "squared_exponential",
        "aggregation": "auto",
        "expert_size": 50,
        "max_evaluations": 30,
        "random_state": 0,
        "n_jobs": 1,
    }
    return CommitteeRegressor(**{**standard, **settings})


def chosen_for(store: FactorStore, scaling: Standardisation, engine: Engine) -> ChosenRule:
    """By rules as they are, none of them calibrated."""
    rules = [RULES[name] for name in CANDIDATES]
    return choose_rule(CANDIDATES, predict_held_out(store, scaling, rules, engine, SilentReporter()), {}, scaling)


def numbers(report: ScoreReport) -> dict[str, float]:
    """The scores that are one number each."""
    return {name: value for name, value in report.to_dict().items() if name != "coverage_curve"}


@pytest.fixture(scope="module")
def fitted() -> CommitteeRegressor:
    return regressor().fit(*data())


def test_the_fit_is_that_of_the_chosen_rule(fitted: CommitteeRegressor) -> None:
    assert fitted.aggregation_ in CANDIDATES
    plain = regressor(aggregation=fitted.aggregation_).fit(*data())
    X, _ = data(50, seed=1)
    np.testing.assert_array_equal(fitted.predict(X, return_std=True), plain.predict(X, return_std=True))
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X, aggregation="auto"))
    assert plain.aggregation_ == fitted.aggregation_
    assert plain.aggregation_scores_ == {}


def test_the_chosen_rule_has_the_best_msll_of_all_additive_ones(fitted: CommitteeRegressor) -> None:
    scores = fitted.aggregation_scores_
    assert set(scores) == set(RULES) - {"npae"}
    best = min(scores.values(), key=lambda report: report.msll or 0.0)
    assert scores[str(fitted.aggregation_)].msll == pytest.approx(best.msll, abs=1e-5)
    assert {report.n_points for report in scores.values()} == {40}


def test_scores_are_those_of_a_committee_that_never_saw_the_rows() -> None:
    blocks = random_blocks([40, 50, 60], 2, seed=3)
    committee = committee_of(GP, blocks)
    scaling = replace(identity_scaling(2), y_mean=2.0, y_scale=3.0)
    chosen = chosen_for(FactorStore(committee, 1e9), scaling, SerialEngine())
    X, y = np.vstack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
    held = held_out_rows(committee.offsets)
    rows = np.setdiff1d(np.arange(committee.offsets[1]), held)
    moments = np.array([GP.latent_moments(X[rows], y[rows], x) for x in X[held]])
    expected = score_report(
        2 + 3 * y[held],
        2 + 3 * moments[:, 0],
        3 * np.sqrt(moments[:, 1] + GP.noise_variance),
        y_train_mean=2.0,
        y_train_var=9.0,
    )
    found = chosen.scores["communication"]
    assert found.coverage_curve == expected.coverage_curve
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9)


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=20))
def test_held_out_rows_leave_every_expert_some(sizes: list[int]) -> None:
    offsets = np.cumsum([0, *sizes])
    held = held_out_rows(offsets)
    assert len(held) <= min(MOST, offsets[-1] / 10)
    assert (np.diff(held) > 0).all()
    assert (held >= 0).all()
    assert (held < offsets[-1]).all()
    assert (np.histogram(held, offsets)[0] < sizes).all()
    np.testing.assert_array_equal(held, held_out_rows(offsets))


def test_a_committee_without_rows_keeps_the_others_in_their_experts() -> None:
    committee = committee_of(GP, random_blocks([5, 3, 4], 2, seed=0))
    less = without(committee, np.array([0, 4, 6, 11]))
    assert less.offsets.tolist() == [0, 3, 5, 8]
    for expert, rows in enumerate(([1, 2, 3], [5, 7], [8, 9, 10])):
        X, y = less.block(expert)
        assert torch.equal(X, committee.X[rows])
        assert torch.equal(y, committee.y[rows])


def test_the_choice_does_not_depend_on_the_engine() -> None:
    committee = committee_of(GP, random_blocks([40] * 20, 2, seed=3))
    first, second = (
        chosen_for(FactorStore(committee, budget), identity_scaling(2), engine)
        for budget, engine in ((1e9, SerialEngine()), (0.0, ThreadEngine(3)))
    )
    assert first == second


def test_rules_that_coincide_leave_it_at_the_preferred_one() -> None:
    target, generator = np.arange(20.0), np.random.default_rng(0)
    rounding = [1 + 1e-12 * generator.standard_normal(20) for _ in CANDIDATES]
    predictions = {
        RULES[name]: Prediction(target + 1, np.ones(20), 2 * factor)
        for name, factor in zip(CANDIDATES, rounding, strict=True)
    }
    assert choose_rule(CANDIDATES, HeldOut(target, predictions), {}, identity_scaling(1)).name == "neighbourhood"
    fewer = candidates("random")
    assert choose_rule(fewer, HeldOut(target, predictions), {}, identity_scaling(1)).name == "grbcm"


def test_a_random_partition_leaves_out_the_rule_that_cannot_predict_from_it() -> None:
    assert candidates("tree") == candidates(np.zeros(3)) == CANDIDATES
    assert set(CANDIDATES) == set(RULES) - {"npae"}
    assert candidates("random") == tuple(name for name in CANDIDATES if name != "neighbourhood")
    model = regressor(partition="random", optimizer=None).fit(*data())
    assert (
        set(model.aggregation_scores_)
        == set(candidates("random"))
        == {next(name for name, named in RULES.items() if named == rule) for rule in model.variance_scales_}
    )


def test_scales_count_when_rules_are_compared() -> None:
    target = np.zeros(1000)
    mean = np.random.default_rng(0).standard_normal(1000)
    predictions = {RULES[name]: Prediction(mean, np.full(1000, 9.0), np.full(1000, 9.0)) for name in CANDIDATES}
    held = HeldOut(target, predictions)
    assert choose_rule(CANDIDATES, held, {RULES["barycenter"]: 1 / 9}, identity_scaling(1)).name == "barycenter"


def test_with_too_few_rows_it_is_the_preferred_one() -> None:
    model = regressor().fit(*data(10 * FEWEST - 1))
    assert (model.aggregation_, model.aggregation_scores_) == ("neighbourhood", {})


def test_a_constant_target_has_scores_but_no_msll() -> None:
    X, _ = data(150)
    model = regressor(optimizer=None).fit(X, np.full(150, 7.0))
    assert {report.msll for report in model.aggregation_scores_.values()} == {None}
    assert model.predict(X[:3]) == pytest.approx([7.0] * 3)


def test_float32(fitted: CommitteeRegressor) -> None:
    scores = regressor(dtype="float32", max_evaluations=100).fit(*data()).aggregation_scores_
    for name, report in fitted.aggregation_scores_.items():
        assert scores[name].nlpd == pytest.approx(report.nlpd, abs=0.02)


def test_the_choice_is_saved(fitted: CommitteeRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    assert loaded.aggregation == "auto"
    assert loaded.aggregation_ == fitted.aggregation_
    assert loaded.aggregation_scores_ == fitted.aggregation_scores_
    X, _ = data(20, seed=1)
    np.testing.assert_array_equal(loaded.predict(X, return_std=True), fitted.predict(X, return_std=True))
    own = regressor(aggregation=PoE(level="observation"), optimizer=None).fit(*data())
    own.save(tmp_path / "own.gpc")
    assert CommitteeRegressor.load(tmp_path / "own.gpc").aggregation_ == PoE(level="observation")


def test_a_plan_counts_it_as_the_preferred_rule() -> None:
    auto, preferred = (plan_fit(5000, 3, machine_rate=1e10, aggregation=name) for name in ("auto", CANDIDATES[0]))
    assert auto.peak_memory == preferred.peak_memory
