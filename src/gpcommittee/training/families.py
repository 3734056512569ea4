"""The kernel for ``kernel="auto"``: the family with the best objective on a few experts.

Every family learns its own hyperparameters on the same experts, which are the first stage of the staged training, and
the best goes on from there. Families are compared by the objective per row, which is a likelihood of rows that the
training has seen: what speaks for a family with more parameters is partly their number. So Schwarz's criterion is used,
half the logarithm of the number of rows for every parameter, which approximates the families' marginal likelihoods. It
tells the families apart only where their likelihoods hardly do: all of them have one parameter per input, one for the
variance and one for the noise, and the rational quadratic one more, at the end of whose range it is the squared
exponential.

References
----------
Schwarz (1978), "Estimating the dimension of a model", Annals of Statistics 6(2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gpcommittee.records import KernelScore
from gpcommittee.training.part import SomeExperts
from gpcommittee.training.staged import Course, Trainer

AUTO = "auto"

TOLERANCE = 1e-3
"""Relative change of the objective at which the training of a family ends. On kin40k, sarcos, the geoid and electric it
takes three quarters of the evaluations that 1e-4 takes, and the same family is the best."""

DIGITS = 6
"""Decimals of a criterion, in nats per row, that count: where families coincide, rounding must not choose."""


def compares_kernels(kernel: object) -> bool:
    """Whether a setting leaves the kernel to the comparison."""
    return isinstance(kernel, str) and kernel == AUTO


@dataclass(frozen=True)
class ChosenFamily:
    """What was chosen, and why.

    Attributes
    ----------
    name : str
    course : Course
        Its stage of the comparison, from which training goes on.
    scores : mapping of str to KernelScore
        Of every family.
    """

    name: str
    course: Course
    scores: Mapping[str, KernelScore]


def choose_family(trainers: Mapping[str, Trainer], part: SomeExperts) -> ChosenFamily:
    """The family with the least criterion on a part of the experts; of equals the first.

    Parameters
    ----------
    trainers : mapping of str to Trainer
        By family.
    part : SomeExperts
        The same for all.

    Returns
    -------
    ChosenFamily

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start of a family.
    CheckpointError
        If the log cannot be written.
    """
    courses = {name: trainer.stage(Course(trainer.start), part, TOLERANCE) for name, trainer in trainers.items()}
    n_rows = int(part.rows.sum())
    scores = {name: _score(courses[name], trainer.n_rows, n_rows) for name, trainer in trainers.items()}
    best = min(scores, key=lambda name: round(scores[name].criterion, DIGITS))
    return ChosenFamily(best, courses[best], scores)


def _score(course: Course, n_committee: int, n_rows: int) -> KernelScore:
    """Of a stage, whose objective is the whole committee's as the experts' rows estimate it."""
    stage = course.stages[-1]
    objective = stage.objective / n_committee
    return KernelScore(
        objective=objective,
        criterion=objective + len(course.theta) * math.log(n_rows) / (2 * n_rows),
        n_rows=n_rows,
        evaluations=stage.evaluations,
    )
