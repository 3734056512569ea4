from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.priors import NormalPrior, UniformPrior

from committees import committee_of, random_blocks, theta_of
from gpcommittee.engines import SerialEngine, ThreadEngine
from gpcommittee.errors import CheckpointError, NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray
from gpcommittee.training import FactorisedObjective, SearchSpace, Trained, bound_messages, stopping_advice, train
from gpcommittee.training.checkpoint import EvaluationLog, StageLog, fingerprint
from naive import NaiveGP

GP = NaiveGP(np.array([0.8, 1.2]), 1.5, 0.05)
BLOCKS = random_blocks([30, 20, 25], 2, seed=0)
KERNEL = KernelFunction(make_kernel("squared_exponential", 2))
SPACE = SearchSpace.of(KERNEL)
START = np.append(KERNEL.start, np.log(0.1))
Objective = Callable[[FloatArray], tuple[float, FloatArray]]


def objective() -> FactorisedObjective:
    blocks = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in BLOCKS]
    return FactorisedObjective(KERNEL, blocks, SerialEngine())


def run(function: Objective, *, limit: int = 200, log: StageLog | None = None) -> Trained:
    return train(function, 75, SPACE, START, limit, SilentReporter(), log)


def test_objective_is_the_sum_over_experts() -> None:
    value, _ = objective()(theta_of(GP))
    assert value == pytest.approx(sum(GP.nlml(X, y) for X, y in BLOCKS), rel=1e-10)


def test_objective_is_the_same_on_every_engine() -> None:
    serial = objective()
    threads = FactorisedObjective(KERNEL, serial.blocks, ThreadEngine(3))
    a, b = serial(theta_of(GP)), threads(theta_of(GP))
    assert a[0] == b[0]
    np.testing.assert_array_equal(a[1], b[1])


def test_priors_are_subtracted_once() -> None:
    prior = NormalPrior(0.5, 0.1)
    with_prior = KernelFunction(ScaleKernel(RBFKernel(lengthscale_prior=prior)))
    without = KernelFunction(ScaleKernel(RBFKernel()))
    theta = np.append(with_prior.start, np.log(0.1))
    blocks = objective().blocks
    a, gradient_a = FactorisedObjective(with_prior, blocks, SerialEngine())(theta)
    b, gradient_b = FactorisedObjective(without, blocks, SerialEngine())(theta)
    lengthscale = with_prior.natural_values(with_prior.start)["base_kernel.lengthscale"]
    assert a - b == pytest.approx(-float(prior.log_prob(torch.tensor(lengthscale)).sum()), rel=1e-6)
    assert np.abs(gradient_a - gradient_b).max() > 1e-3


def test_training_finds_a_stationary_point_and_records_its_path() -> None:
    trained = run(objective())
    record = trained.record
    _, gradient = objective()(np.append(trained.hyperparameters.kernel, trained.hyperparameters.log_noise_variance))
    assert record.converged
    assert np.abs(gradient).max() < 75 * 1e-3
    assert record.evaluations == len(record.path) < 200
    assert record.objective == np.nanmin(record.path)
    assert record.path[0] == objective()(START)[0]
    assert (record.rejected, record.reused) == (0, 0)
    assert "CONVERGENCE" in record.reason


def test_evaluation_limit_is_kept_and_the_best_point_returned() -> None:
    trained = run(objective(), limit=4)
    assert trained.record.evaluations == 4
    assert not trained.record.converged
    assert "limit of 4" in trained.record.reason
    assert trained.record.objective == trained.record.path.min()


@pytest.mark.parametrize("failure", ["raise", "nan"])
def test_a_failed_factor_is_a_rejected_step(failure: str) -> None:
    free = run(objective())
    wall = 0.5 * (START[0] + free.hyperparameters.kernel[0])
    function = objective()

    def with_wall(theta: FloatArray) -> tuple[float, FloatArray]:
        beyond = theta[0] > wall if free.hyperparameters.kernel[0] > wall else theta[0] < wall
        if beyond and failure == "raise":
            raise NotPositiveDefiniteError("beyond the wall")
        value, gradient = function(theta)
        return (np.nan if beyond else value), gradient

    trained = run(with_wall)
    assert trained.record.rejected > 0
    assert trained.record.rejected == np.isnan(trained.record.path).sum()
    assert trained.record.objective < trained.record.path[0]
    assert abs(trained.hyperparameters.kernel[0] - wall) < abs(START[0] - wall)


def test_failure_at_the_start_is_an_error() -> None:
    def hopeless(theta: FloatArray) -> tuple[float, FloatArray]:
        raise NotPositiveDefiniteError("no")

    with pytest.raises(NotPositiveDefiniteError, match=r"Training cannot start.*noise_variance"):
        run(hopeless)


class Interrupted(Exception):
    pass


def interrupted_after(n: int) -> Objective:
    function = objective()
    calls: list[FloatArray] = []

    def call(theta: FloatArray) -> tuple[float, FloatArray]:
        if len(calls) == n:
            raise Interrupted
        calls.append(theta)
        return function(theta)

    return call


@pytest.mark.parametrize("n", [1, 5, 9])
def test_an_interrupted_fit_resumes_to_the_same_bits(n: int, tmp_path: Path) -> None:
    whole = run(objective())
    path = tmp_path / "fit.jsonl"
    with pytest.raises(Interrupted):
        run(interrupted_after(n), log=StageLog(EvaluationLog(path, "f"), "s"))
    resumed = run(objective(), log=StageLog(EvaluationLog(path, "f"), "s"))
    assert resumed.record.reused == n
    np.testing.assert_array_equal(resumed.record.path, whole.record.path)
    np.testing.assert_array_equal(resumed.hyperparameters.kernel, whole.hyperparameters.kernel)


def test_a_finished_fit_is_replayed_without_an_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "fit.jsonl"
    whole = run(objective(), log=StageLog(EvaluationLog(path, "f"), "s"))
    replayed = run(interrupted_after(0), log=StageLog(EvaluationLog(path, "f"), "s"))
    assert replayed.record.reused == whole.record.evaluations


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_cut_off_by_a_kill_is_dropped(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "fit.jsonl"
    whole = run(objective(), log=StageLog(EvaluationLog(path, "f"), "s"))
    path.write_bytes(path.read_bytes()[:-cut])
    resumed = run(objective(), log=StageLog(EvaluationLog(path, "f"), "s"))
    assert resumed.record.reused == whole.record.evaluations - 1
    np.testing.assert_array_equal(resumed.record.path, whole.record.path)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_rejected_evaluations_are_replayed_too(tmp_path: Path) -> None:
    log = EvaluationLog(tmp_path / "fit.jsonl", "f")
    log.add("s", START, None)
    log.add("s", START + 1, (2.5, np.array([0.1, 0.2, 0.3, 1e-300])))
    again = EvaluationLog(tmp_path / "fit.jsonl", "f")
    assert again.get("s", START) is None
    value, gradient = again.get("s", START + 1) or (0.0, np.zeros(0))
    assert value == 2.5
    np.testing.assert_array_equal(gradient, [0.1, 0.2, 0.3, 1e-300])


def test_stages_share_a_log_and_not_their_evaluations(tmp_path: Path) -> None:
    log = EvaluationLog(tmp_path / "fit.jsonl", "f")
    StageLog(log, "first").add(START, (1.0, START))
    StageLog(log, "second").add(START, (2.0, START))
    again = EvaluationLog(tmp_path / "fit.jsonl", "f")
    values = [evaluation[0] for stage in ("first", "second") if (evaluation := StageLog(again, stage).get(START))]
    assert values == [1.0, 2.0]
    with pytest.raises(KeyError):
        StageLog(again, "third").get(START)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    EvaluationLog(tmp_path / "fit.jsonl", "one")
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        EvaluationLog(tmp_path / "fit.jsonl", "other")


@pytest.mark.parametrize("content", ["not json\n", "{}\n", "[1]\n", '{"gpcommittee_checkpoint": 1}\n', "\x00\xff\n"])
def test_a_file_that_is_no_checkpoint_is_refused_and_kept(content: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        EvaluationLog(path, "f")
    assert path.read_text() == content


@pytest.mark.parametrize("line", ['{"theta": [1.0]}', '{"theta": 1, "value": "x", "gradient": []}', "[]"])
def test_a_damaged_line_is_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.jsonl"
    EvaluationLog(path, "f")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(CheckpointError, match="damaged"):
        EvaluationLog(path, "f")


@pytest.mark.parametrize("n_bytes", [0, 1, 20])
def test_a_fit_killed_at_its_first_line_starts_afresh(n_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "fit.jsonl"
    EvaluationLog(path, "f")
    whole = path.read_bytes()
    path.write_bytes(whole[:n_bytes])
    EvaluationLog(path, "f")
    assert path.read_bytes() == whole


def test_a_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="Cannot read"):
        EvaluationLog(tmp_path, "f")


def test_points_outside_a_priors_support_are_rejected_steps() -> None:
    kernel = ScaleKernel(RBFKernel(lengthscale_prior=UniformPrior(0.5, 0.8)))
    kernel.initialize(**{"base_kernel.lengthscale": 0.6})
    function = KernelFunction(kernel)
    bounded = FactorisedObjective(function, objective().blocks, SerialEngine())
    start = np.append(function.start, np.log(0.1))
    trained = train(bounded, 75, SearchSpace.of(function), start, 60, SilentReporter())
    found = function.natural_values(trained.hyperparameters.kernel)["base_kernel.lengthscale"]
    assert 0.5 <= found <= 0.8
    assert trained.record.rejected > 0


def test_a_checkpoint_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="Cannot write the checkpoint"):
        EvaluationLog(tmp_path / "missing" / "fit.jsonl", "f")


def test_fingerprint_depends_on_settings_values_shapes_and_types() -> None:
    array = np.arange(6.0)
    prints = {
        fingerprint(["a"], [array]),
        fingerprint(["b"], [array]),
        fingerprint(["a"], [array + 1]),
        fingerprint(["a"], [array.reshape(2, 3)]),
        fingerprint(["a"], [array.astype(np.float32)]),
    }
    assert len(prints) == 5
    assert fingerprint(["a"], [array[::-1]]) == fingerprint(["a"], [array[::-1].copy()])


def test_space_names_every_element_with_its_index() -> None:
    assert SPACE.names == ("outputscale", "base_kernel.lengthscale[0]", "base_kernel.lengthscale[1]", "noise_variance")
    assert SearchSpace.of(KernelFunction(RBFKernel())).names == ("lengthscale", "noise_variance")


def test_noise_floor_is_what_the_precision_can_tell_from_none() -> None:
    single = SearchSpace.of(KernelFunction(make_kernel("squared_exponential", 2), torch.float32))
    assert np.exp(SPACE.lower[-1]) == pytest.approx(1e-8)
    assert 1e-6 < np.exp(single.lower[-1]) < 1e-5


@pytest.mark.parametrize(("reason", "said"), [("reached the limit of 5", "evaluations"), ("ABNORMAL", "rounding")])
def test_advice_fits_the_reason_for_stopping(reason: str, said: str) -> None:
    record = replace(run(objective(), limit=2).record, reason=reason)
    assert said in stopping_advice(record)


def test_a_reason_ends_without_punctuation() -> None:
    right = objective()

    def pointing_uphill(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = right(theta)
        return value, -gradient

    assert run(pointing_uphill).record.reason == "ABNORMAL"


def test_bounds_are_named_with_their_usual_meaning() -> None:
    low, high = SPACE.at_bounds(np.array([0.0, SPACE.lower[1], SPACE.upper[2], SPACE.lower[3]]))
    assert low == ("base_kernel.lengthscale[0]", "noise_variance")
    assert high == ("base_kernel.lengthscale[1]",)
    messages = list(bound_messages(low, high, ["depth", "time"]))
    assert "lengthscale[0] (input depth) ended on its lower bound: the target changes faster" in messages[0]
    assert "noise_variance ended on its lower bound: the target looks noise-free" in messages[1]
    assert "lengthscale[1] (input time) ended on its upper bound: the target hardly depends" in messages[2]


def test_committee_blocks_are_the_experts() -> None:
    committee = committee_of(GP, BLOCKS)
    for i, (X, y) in enumerate(BLOCKS):
        np.testing.assert_array_equal(committee.block(i)[0], X)
        np.testing.assert_array_equal(committee.block(i)[1], y)
