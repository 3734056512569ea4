from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committees import random_blocks
from gpcommittee.data import Rows
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, Partition
from gpcommittee.training import OBJECTIVES, FactorisedObjective, SearchSpace, Trained, arrange, staged, train
from gpcommittee.training.part import Part
from gpcommittee.training.schedule import TOLERATED_LOSS, expert_order
from gpcommittee.training.staged import LEEWAY, Course, Trainer, train_in_stages

KERNEL = KernelFunction(make_kernel("squared_exponential", 2))
SPACE = SearchSpace.of(KERNEL)
START = np.append(KERNEL.start, np.log(0.1))
N_EXPERTS, SIZE = 120, 25
ROWS = random_blocks([N_EXPERTS * SIZE], 2, seed=0)[0]
PARTITION = Partition(
    np.random.default_rng(0).permutation(N_EXPERTS * SIZE), np.arange(0, (N_EXPERTS + 1) * SIZE, SIZE)
)
COMMITTEE = arrange(KERNEL, Rows.standardised(*ROWS), PARTITION, 0.1)
ORDER = expert_order(N_EXPERTS, 0)


def trainer(max_evaluations: int = 100, objective: str = "factorised") -> Trainer:
    n_rows = N_EXPERTS * SIZE
    return Trainer(KERNEL, SPACE, objective, START, n_rows, max_evaluations, SerialEngine(), SilentReporter(), None)


def first(size: int) -> Part:
    return Part.of_committee(COMMITTEE, PARTITION, ORDER[:size], "standardised")


@pytest.fixture(scope="module", params=OBJECTIVES)
def objective(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def by_stages(objective: str) -> Course:
    return train_in_stages(trainer(objective=objective), Course(START), first, N_EXPERTS)


@pytest.fixture(scope="module")
def at_once(objective: str) -> Course:
    return trainer(objective=objective).stage(Course(START), first(N_EXPERTS))


def test_stages_lose_no_more_than_is_tolerated(objective: str, by_stages: Course, at_once: Course) -> None:
    start_anew = trainer(objective=objective).stage(by_stages, first(N_EXPERTS))
    assert start_anew.trained.record.objective == pytest.approx(at_once.trained.record.objective, abs=1e-3)
    at_stages_end = start_anew.runs[-1].record.path[0]
    assert at_stages_end - at_once.trained.record.objective < TOLERATED_LOSS * N_EXPERTS * SIZE


def test_stages_use_more_and_more_experts_and_stop_before_all(by_stages: Course) -> None:
    sizes = [stage.n_experts for stage in by_stages.stages]
    assert sizes[:2] == [4, 16]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] < N_EXPERTS
    losses = [stage.loss for stage in by_stages.stages]
    assert losses[0] is None
    assert losses[-1] is not None
    assert losses[-1] <= TOLERATED_LOSS


def test_the_record_is_that_of_all_stages(by_stages: Course, at_once: Course) -> None:
    record, runs = by_stages.trained.record, by_stages.runs
    assert record.stages == by_stages.stages
    assert record.evaluations == len(record.path) == sum(stage.evaluations for stage in record.stages)
    np.testing.assert_array_equal(record.path, np.concatenate([run.record.path for run in runs]))
    last = runs[-1].record
    assert (record.objective, record.reason, record.converged) == (last.objective, last.reason, last.converged)
    assert record.objective == record.stages[-1].objective
    assert record.objective == pytest.approx(at_once.trained.record.objective, rel=0.2)
    assert by_stages.trained.hyperparameters == runs[-1].hyperparameters


def test_one_stage_on_all_is_training_as_it_always_was(at_once: Course) -> None:
    assert [(stage.n_experts, stage.loss) for stage in at_once.stages] == [(N_EXPERTS, 0.0)]
    assert at_once.trained.record.converged


class Recorder:
    """Stands for the optimiser: notes where it starts, and fails where it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.starts: list[FloatArray] = []
        self.failures = failures

    def __call__(
        self, objective: Any, n_rows: int, space: SearchSpace, start: FloatArray, *more: Any, **named: Any
    ) -> Trained:
        self.starts.append(start)
        if len(self.starts) <= self.failures:
            raise NotPositiveDefiniteError("no")
        return train(objective, n_rows, space, start, *more, **named)


def test_lengthscales_start_a_stage_within_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, far = Recorder(), START + np.array([5.0, 4.0, -4.0, 3.0])
    monkeypatch.setattr(staged, "train", recorder)
    course = trainer(1).stage(Course(far), first(4))
    np.testing.assert_allclose(recorder.starts[0], START + np.array([5.0, LEEWAY, -4.0, 3.0]))
    assert course.stages[0].converged is False


def test_where_a_new_expert_cannot_be_factored_the_stage_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(failures=1)
    monkeypatch.setattr(staged, "train", recorder)
    course = trainer().stage(Course(START + 0.5), first(4))
    np.testing.assert_array_equal(recorder.starts[1], START)
    assert course.stages[0].converged


def test_a_failure_at_the_very_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(failures=2)
    monkeypatch.setattr(staged, "train", recorder)
    with pytest.raises(NotPositiveDefiniteError):
        trainer().stage(Course(START), first(4))
    assert len(recorder.starts) == 1


def test_a_loss_that_cannot_be_computed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    course = trainer().stage(Course(START), first(4))

    def fail(*_: object) -> FloatArray:
        raise NotPositiveDefiniteError("no")

    monkeypatch.setattr(FactorisedObjective, "terms", fail)
    assert trainer().stage(course, first(8)).stages[-1].loss is None
