"""Stages of training that a fit will typically go through, and the most that it may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpcommittee.partition import DISTANCE_PARTITIONERS
from gpcommittee.planning.case import Case
from gpcommittee.planning.work import objective_work
from gpcommittee.training.schedule import FEW, FIRST_STAGE, next_step, ordinary_rows, pilot_sizes

ONLY_EVALUATIONS = 25
"""Evaluations until convergence in one stage: 13 to 28 in four fits to real data with 3 to 8 inputs, 103 in one with
21."""

FIRST_EVALUATIONS = 20
"""The same in the first stage of several, which starts from nothing; measured 12 to 28."""

NEXT_EVALUATIONS = 15
"""The same in stages that start from the optimum of another; measured 7 to 19 with 3 to 8 inputs, 12
to 31 with 11, 33 to 47 with 21."""

COMPARING_EVALUATIONS = 15
"""The same of one kernel where several are compared; measured 11 to 24."""

TYPICAL_LOSS = 2.4
"""Nats per row that the optimum of one expert lacks, which decides how many experts are enough; measured 2.3 and 2.6
with one and two million rows, 0.05 to 0.9 with 100,000 at most."""


@dataclass(frozen=True)
class PlannedStage:
    """One stage of training.

    Attributes
    ----------
    n_experts : int
    evaluations : int
        Of its objective, with all kernels that are tried.
    first_division : bool, default=False
        Whether it comes before rows are divided as they stay, with no more rows of the communication expert than of
        the others.
    """

    n_experts: int
    evaluations: int
    first_division: bool = False

    def case(self, whole: Case) -> Case:
        """A committee of its experts alone, which are as large as those of the whole."""
        chosen = np.linspace(0, len(whole.sizes) - 1, self.n_experts).round().astype(int)
        sizes = whole.sizes[chosen]
        return replace(whole, sizes=sizes.clip(max=ordinary_rows(whole.sizes)) if self.first_division else sizes)


@dataclass(frozen=True)
class Training:
    """Settings that decide the stages.

    Attributes
    ----------
    experts : int, "auto" or "all"
    learns_metric : bool
        Whether rows are divided again after the first stages.
    max_evaluations : int
        In each stage.
    n_kernels : int, default=1
        Several are compared in the first stage.
    n_compared : int, default=8
        Experts of that stage.
    """

    experts: int | str
    learns_metric: bool
    max_evaluations: int
    n_kernels: int = 1
    n_compared: int = 8


def learns_metric(partition: str, partition_metric: str, n_experts: int, n_features: int) -> bool:
    """Whether a fit divides the rows again in the metric of learned lengthscales."""
    divides_by_distance = partition in DISTANCE_PARTITIONERS and n_experts > 2 and n_features > 1
    return divides_by_distance and partition_metric == "learned"


def typical_stages(training: Training, n_experts: int) -> tuple[PlannedStage, ...]:
    """Stages of a typical fit.

    Examples
    --------
    >>> [stage.n_experts for stage in typical_stages(Training("auto", True, 100), 20)]
    [4, 20]
    >>> [stage.n_experts for stage in typical_stages(Training("auto", True, 100), 2000)]
    [4, 16, 64, 256, 1091]
    >>> typical_stages(Training("all", False, 100), 20)
    (PlannedStage(n_experts=20, evaluations=25, first_division=False),)
    >>> [(s.n_experts, s.evaluations) for s in typical_stages(Training("auto", True, 100, n_kernels=5), 2000)]
    [(8, 75), (16, 15), (64, 15), (256, 15), (1091, 15)]
    """
    sizes = list(_sizes(training, n_experts, TYPICAL_LOSS))
    first = FIRST_EVALUATIONS if len(sizes) > 1 else ONLY_EVALUATIONS
    first = COMPARING_EVALUATIONS if training.n_kernels > 1 else first
    evaluations = [first] + [NEXT_EVALUATIONS] * (len(sizes) - 1)
    return _stages(training, n_experts, sizes, evaluations)


def longest_stages(training: Training, n_experts: int) -> tuple[PlannedStage, ...]:
    """Stages of a fit that needs all experts and all the evaluations it is allowed."""
    sizes = list(_sizes(training, n_experts, None))
    return _stages(training, n_experts, sizes, [training.max_evaluations] * len(sizes))


def _stages(
    training: Training, n_experts: int, sizes: Sequence[int], evaluations: Sequence[int]
) -> tuple[PlannedStage, ...]:
    """The first stage with as many evaluations of every kernel."""
    n_before = len(_sizes_before(training, n_experts))
    runs = [training.n_kernels] + [1] * (len(sizes) - 1)
    counts = [n_runs * min(count, training.max_evaluations) for n_runs, count in zip(runs, evaluations, strict=True)]
    return tuple(
        PlannedStage(size, count, first_division=number < n_before)
        for number, (size, count) in enumerate(zip(sizes, counts, strict=True))
    )


def training_seconds(case: Case, stages: tuple[PlannedStage, ...], rate: float) -> float:
    """Time of the stages, whose experts are as large as those of the whole committee."""
    return sum(
        stage.evaluations * work.seconds(rate, case.n_workers)
        for stage in stages
        for work in objective_work(stage.case(case))
    )


def _sizes(training: Training, n_experts: int, loss_of_one: float | None) -> Iterator[int]:
    """Experts of each stage; without a loss every stage is followed by another until all experts are used."""
    before = _sizes_before(training, n_experts)
    yield from before
    if training.experts != "auto" or n_experts <= FEW:
        yield _most(training, n_experts)
        return
    if not before:
        yield FIRST_STAGE
    size, known, may_be_last = (before or (FIRST_STAGE,))[-1], len(before) > 1, False
    while not may_be_last:
        loss = loss_of_one * (1 / size - 1 / n_experts) if loss_of_one is not None and known else None
        step = next_step(size, n_experts, loss)
        yield step.size
        size, known, may_be_last = step.size, True, step.may_be_last


def _sizes_before(training: Training, n_experts: int) -> tuple[int, ...]:
    """Experts of the stages that choose the kernel and learn the metric."""
    most = _most(training, n_experts)
    compared = (min(training.n_compared, most),) if training.n_kernels > 1 else ()
    pilots = pilot_sizes(n_experts, most) if training.learns_metric else ()
    return (*compared, *(size for size in pilots if not compared or size >= compared[0]))


def _most(training: Training, n_experts: int) -> int:
    return training.experts if isinstance(training.experts, int) else n_experts
