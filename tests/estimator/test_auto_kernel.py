"""``kernel="auto"``: the kernel with the best objective on a few experts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel

from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import CheckpointError, InvalidParameterError
from gpcommittee.kernels import KERNELS, KernelFunction, make_kernel
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray
from gpcommittee.training import FactorisedObjective, SearchSpace, train
from gpcommittee.training.families import TOLERANCE
from gpcommittee.training.schedule import expert_order

pytestmark = pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")

MATERN = KernelFunction(make_kernel("matern32", 2))
START = np.append(MATERN.start, np.log(0.1))


def drawn(kernel: str, n_rows: int = 600, lengthscale: float = 0.8) -> tuple[FloatArray, FloatArray]:
    """Rows of a Gaussian process with this kernel, two inputs and a noise variance of 1e-3."""
    generator = np.random.default_rng(0)
    X = generator.uniform(-1.7, 1.7, (n_rows, 2))
    truth = make_kernel(kernel, 2).initialize(**{"base_kernel.lengthscale": [[lengthscale, 1.5]]})
    function = KernelFunction(truth)
    at = torch.from_numpy(X)
    with torch.no_grad():
        covariance = function.covariance(function.tensor(function.start), at, at).numpy() + 1e-3 * np.eye(n_rows)
    return X, np.linalg.cholesky(covariance) @ generator.standard_normal(n_rows)


def regressor(**settings: Any) -> CommitteeRegressor:
    standard = {"kernel": "auto", "expert_size": 50, "max_evaluations": 40, "random_state": 0, "n_jobs": 1}
    return CommitteeRegressor(**{**standard, **settings})


@pytest.fixture(scope="module")
def data() -> tuple[FloatArray, FloatArray]:
    return drawn("matern32")


@pytest.fixture(scope="module")
def fitted(data: tuple[FloatArray, FloatArray]) -> CommitteeRegressor:
    return regressor().fit(*data)


def both(model: CommitteeRegressor) -> FloatArray:
    points = np.random.default_rng(1).uniform(-1.7, 1.7, (30, 2))
    mean, std = model.predict(points, return_std=True)
    return np.stack([mean, std])


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern12", "matern32"])
def test_the_kernel_that_the_data_were_drawn_with_is_chosen(kernel: str) -> None:
    model = regressor(expert_size=75, partition_metric="standardised", training_experts=8).fit(*drawn(kernel))
    assert model.kernel_name_ == kernel
    assert set(model.kernel_scores_) == set(KERNELS)


def test_scores_are_the_optima_on_the_same_experts(data: tuple[FloatArray, FloatArray]) -> None:
    model = regressor(partition_metric="standardised").fit(*data)
    order = expert_order(model.partition_.n_experts, np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    blocks = [model.committee_.block(int(expert)) for expert in order[:8]]
    n_rows = sum(len(y) for _, y in blocks)
    for name, score in model.kernel_scores_.items():
        function = KernelFunction(make_kernel(name, 2))
        objective = FactorisedObjective(function, blocks, SerialEngine(), 600 / n_rows)
        start = np.append(function.start, np.log(0.1))
        expected = train(
            objective, 600, SearchSpace.of(function), start, 40, SilentReporter(), value_tolerance=TOLERANCE
        ).record
        assert (score.evaluations, score.n_rows) == (expected.evaluations, n_rows)
        assert score.objective == pytest.approx(expected.objective / 600, rel=1e-12)
        penalty = (5 if name == "rational_quadratic" else 4) * math.log(n_rows) / (2 * n_rows)
        assert score.criterion - score.objective == pytest.approx(penalty, rel=1e-9)


def test_the_chosen_kernel_has_the_least_criterion_and_goes_on_from_there(fitted: CommitteeRegressor) -> None:
    scores = fitted.kernel_scores_
    assert fitted.kernel_name_ == min(scores, key=lambda name: scores[name].criterion)
    assert fitted.training_ is not None
    first = fitted.training_.stages[0]
    best = scores[fitted.kernel_name_]
    assert (first.n_experts, first.evaluations) == (8, best.evaluations)
    assert first.objective / 600 == pytest.approx(best.objective, rel=1e-12)
    assert fitted.training_.stages[-1].n_experts == fitted.partition_.n_experts
    assert fitted.kernel_.base_kernel.nu == 1.5  # type: ignore[union-attr]


def test_the_fit_ends_where_that_of_the_chosen_kernel_does(data: tuple[FloatArray, FloatArray]) -> None:
    settings = {"partition_metric": "standardised", "training_experts": "all", "max_evaluations": 100}
    auto = regressor(**settings).fit(*data)
    named = regressor(**settings, kernel=auto.kernel_name_).fit(*data)
    np.testing.assert_allclose(both(auto), both(named), rtol=1e-3, atol=1e-3)
    assert (named.kernel_name_, named.kernel_scores_) == (auto.kernel_name_, {})


def test_a_simpler_kernel_is_preferred_where_it_does_as_well() -> None:
    X, y = drawn("squared_exponential")
    model = regressor(expert_size=75, partition_metric="standardised", training_experts=8).fit(X, y)
    simple, nesting = (model.kernel_scores_[name] for name in ("squared_exponential", "rational_quadratic"))
    assert nesting.objective - simple.objective < 0.002
    assert simple.criterion < nesting.criterion


def objective_of_the_first(n_experts: int, undivided: CommitteeRegressor) -> FactorisedObjective:
    """On the first experts of 50 of 600 rows, the communication expert's 200 thinned to as many."""
    order = expert_order(undivided.partition_.n_experts, np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    blocks = [undivided.committee_.block(int(expert)) for expert in order[:n_experts]]
    kept = np.linspace(0, 199, 50).round().astype(int)
    blocks[0] = (blocks[0][0][kept], blocks[0][1][kept])
    return FactorisedObjective(MATERN, blocks, SerialEngine(), 600 / (50 * n_experts))


def test_a_large_communication_set_is_thinned_for_the_comparison(data: tuple[FloatArray, FloatArray]) -> None:
    model = regressor(communication_size=200, partition_metric="standardised").fit(*data)
    assert {score.n_rows for score in model.kernel_scores_.values()} == {400}
    objective, space = objective_of_the_first(8, model), SearchSpace.of(MATERN)
    expected = train(objective, 600, space, START, 40, SilentReporter(), value_tolerance=TOLERANCE)
    score = model.kernel_scores_["matern32"]
    assert score.objective == pytest.approx(expected.record.objective / 600, rel=1e-12)


def test_a_large_communication_set_is_thinned_to_learn_the_metric(data: tuple[FloatArray, FloatArray]) -> None:
    settings = {"kernel": "matern32", "communication_size": 200}
    once, twice = (regressor(**settings, partition_metric=name).fit(*data) for name in ("standardised", "learned"))
    assert twice.training_ is not None
    assert [stage.metric for stage in twice.training_.stages] == ["standardised", "learned"]
    assert twice.training_.path[0] == pytest.approx(objective_of_the_first(4, once)(START)[0], rel=1e-12)


def test_it_is_the_default_where_there_is_training(data: tuple[FloatArray, FloatArray]) -> None:
    assert regressor(kernel=None).fit(*data).kernel_scores_ == regressor().fit(*data).kernel_scores_
    plain = regressor(kernel=None, optimizer=None).fit(*data)
    assert (plain.kernel_name_, plain.kernel_scores_) == ("squared_exponential", {})


@pytest.mark.parametrize("n_experts", [1, 2, 3])
def test_few_experts_are_all_compared_on(n_experts: int, data: tuple[FloatArray, FloatArray]) -> None:
    model = regressor(expert_size=None, n_experts=n_experts).fit(data[0][:120], data[1][:120])
    assert {score.n_rows for score in model.kernel_scores_.values()} == {120}


def test_training_experts_limits_the_comparison(data: tuple[FloatArray, FloatArray]) -> None:
    model = regressor(training_experts=2).fit(*data)
    assert {score.n_rows for score in model.kernel_scores_.values()} == {100}


def test_other_objectives_and_precisions(data: tuple[FloatArray, FloatArray], fitted: CommitteeRegressor) -> None:
    single = regressor(dtype="float32").fit(*data)
    for name, score in fitted.kernel_scores_.items():
        assert single.kernel_scores_[name].objective == pytest.approx(score.objective, abs=0.02)
    assert regressor(objective="conditional").fit(*data).kernel_name_ == "matern32"


def test_same_seed_same_bits_whatever_the_number_of_jobs(
    data: tuple[FloatArray, FloatArray], fitted: CommitteeRegressor
) -> None:
    threads = regressor(n_jobs=3).fit(*data)
    assert threads.kernel_scores_ == fitted.kernel_scores_
    np.testing.assert_array_equal(both(threads), both(fitted))


def test_a_killed_fit_resumes_to_the_same_bits(tmp_path: Path, data: tuple[FloatArray, FloatArray]) -> None:
    path, settings = tmp_path / "fit.jsonl", {"max_evaluations": 6}
    whole = regressor(**settings).fit(*data)
    assert whole.training_ is not None
    losers = sum(score.evaluations for name, score in whole.kernel_scores_.items() if name != whole.kernel_name_)
    np.testing.assert_array_equal(both(regressor(**settings, checkpoint=path).fit(*data)), both(whole))
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + losers + whole.training_.evaluations
    for n_left in (10, len(lines) - 2):
        path.write_bytes(b"".join(lines[: 1 + n_left]))
        resumed = regressor(**settings, checkpoint=path).fit(*data)
        assert resumed.training_ is not None
        assert resumed.kernel_scores_ == whole.kernel_scores_
        np.testing.assert_array_equal(both(resumed), both(whole))
        np.testing.assert_equal(vars(replace(resumed.training_, reused=0)), vars(whole.training_))
        assert len(path.read_bytes().splitlines()) == len(lines)
    with pytest.raises(CheckpointError, match="another fit"):
        regressor(**settings, checkpoint=path, kernel="matern32").fit(*data)


def test_the_choice_is_saved(fitted: CommitteeRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    assert loaded.kernel == "auto"
    assert (loaded.kernel_name_, loaded.kernel_scores_) == (fitted.kernel_name_, fitted.kernel_scores_)
    np.testing.assert_array_equal(both(loaded), both(fitted))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [("matern52", "matern52"), (ScaleKernel(RBFKernel()), "ScaleKernel")],
)
def test_every_kernel_has_a_name(
    kernel: object, name: str, data: tuple[FloatArray, FloatArray], tmp_path: Path
) -> None:
    model = regressor(kernel=kernel, optimizer=None).fit(*data)
    assert (model.kernel_name_, model.kernel_scores_) == (name, {})
    model.save(tmp_path / "new.gpc")
    arrays, manifest = read_model_file(tmp_path / "new.gpc")
    written = {"format", "schema_version", "libraries", "digest", "kernel_name", "kernel_scores"}
    write_model_file(tmp_path / "old.gpc", arrays, {key: manifest[key] for key in manifest.keys() - written})
    old = CommitteeRegressor.load(tmp_path / "old.gpc")
    assert (old.kernel_name_, old.kernel_scores_) == (name, {})


def test_settings_that_are_not_allowed(data: tuple[FloatArray, FloatArray]) -> None:
    with pytest.raises(InvalidParameterError, match=r"Unknown kernel 'best'; choose one of .*'auto' or pass a kernel"):
        regressor(kernel="best").fit(*data)
    with pytest.raises(InvalidParameterError, match="kernel='auto' compares kernels by training them"):
        regressor(optimizer=None).fit(*data)
    with pytest.raises(InvalidParameterError, match="kernel must be a name"):
        regressor(kernel=3).fit(*data)


def test_the_paper_keeps_its_kernel() -> None:
    assert paper_committee(4).kernel == "squared_exponential"
