"""From standardised data to a committee whose rows are divided, if need be in the metric of its own lengthscales."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import gpytorch
import numpy as np
import scipy
import torch

from gpcommittee.engines import Engine
from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KernelFunction, input_scales
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, IntArray, KernelScore
from gpcommittee.training.checkpoint import EvaluationLog, fingerprint
from gpcommittee.training.families import choose_family
from gpcommittee.training.part import SomeExperts
from gpcommittee.training.rows import ArrangedRows, DividedRows, Final
from gpcommittee.training.schedule import expert_order, n_compared, ordinary_rows, pilot_sizes
from gpcommittee.training.space import SearchSpace
from gpcommittee.training.staged import EARLY_TOLERANCE, Course, Trainer

METRICS = ("learned", "standardised")
"""Distances in which rows are divided."""

TRAINING_EXPERTS = ("auto", "all")
"""What a number of experts to train on may be besides a number."""


@dataclass(frozen=True)
class FitOptions:
    """How the hyperparameters are learned.

    Attributes
    ----------
    optimise : bool
    max_evaluations : int
        In each stage.
    checkpoint : path-like or None
    training_experts : int, "auto" or "all"
    partition_metric : str
        "standardised" or "learned".
    objective : str
        "factorised" or "conditional".
    seed : int
        Decides which experts are used first.
    """

    optimise: bool
    max_evaluations: int
    checkpoint: str | os.PathLike[str] | None
    training_experts: int | str
    partition_metric: str
    objective: str
    seed: int


@dataclass(frozen=True)
class Prepared(Generic[Final]):
    """A fit whose rows are divided.

    Attributes
    ----------
    rows : ArrangedRows
    course : Course
        Stages that chose the kernel or learned the metric, if any.
    trainer : Trainer
    options : FitOptions
    kernel_name : str
        The kernel's.
    kernel_scores : mapping of str to KernelScore
        Of all kernels, if several were compared.
    """

    rows: Final
    course: Course
    trainer: Trainer
    options: FitOptions
    kernel_name: str
    kernel_scores: Mapping[str, KernelScore]


def prepare(
    kernels: Mapping[str, KernelFunction],
    divide: Callable[[FloatArray | None], DividedRows[Final]],
    noise_variance: float,
    options: FitOptions,
    engine: Engine,
    reporter: Reporter,
) -> Prepared[Final]:
    """Choose the kernel and divide the rows among experts, in the learned metric if that is asked for.

    Of several kernels, the one that does best on a few experts is chosen, and training goes on from where it ended.

    In the learned metric rows are divided as they are, lengthscales are learned on a few experts, and rows are divided
    again with the inputs divided by the lengthscales. Where nothing is optimised, the kernel's present ones serve.

    Parameters
    ----------
    kernels : mapping of str to KernelFunction
        By name; several are compared, which takes optimising.
    divide : callable
        From scales of the inputs to divided rows, always with the same communication set; None: all scales are one.
    noise_variance : float
        Its start, on a target of variance 1.
    options : FitOptions
    engine : Engine
    reporter : Reporter

    Returns
    -------
    Prepared

    Raises
    ------
    InvalidParameterError
        If more experts are to be trained on than there are.
    CheckpointError
        If the checkpoint belongs to another fit.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start.
    """
    rows = divide(None)
    order = expert_order(rows.n_experts, options.seed)
    most = most_experts(options.training_experts, rows.n_experts)
    trainers = _trainers(kernels, rows, noise_variance, options, engine, reporter)
    name, scores = next(iter(trainers)), dict[str, KernelScore]()
    course = Course(trainers[name].start)
    if len(trainers) > 1:
        size = min(n_compared(ordinary_rows(rows.sizes)), most)
        part = _before_metric(kernels[name], rows, order[:size])
        chosen = choose_family(trainers, part)
        name, course, scores = chosen.name, chosen.course, dict(chosen.scores)
        reporter.message(f"Chose the kernel {name} among {len(scores)} on {part.rows.sum():,} rows.")
    kernel, trainer = kernels[name], replace(trainers[name], trying="")
    if options.partition_metric == "learned" and rows.n_experts > 2 and rows.n_features > 1:
        if options.optimise:
            sizes = pilot_sizes(rows.n_experts, most)
            course = _pilot(trainer, course, rows, [order[:n] for n in sizes])
        scales = input_scales(kernel, course.theta[:-1], rows.typical())
        if scales is not None:
            rows = divide(scales)
    return Prepared(rows.arranged(kernel, course.hyperparameters), course, trainer, options, name, scores)


def _trainers(
    kernels: Mapping[str, KernelFunction],
    rows: DividedRows[ArrangedRows],
    noise_variance: float,
    options: FitOptions,
    engine: Engine,
    reporter: Reporter,
) -> dict[str, Trainer]:
    """One for each kernel, with one log."""
    starts = [np.append(kernel.start, np.log(noise_variance)) for kernel in kernels.values()]
    log = _open_log(list(kernels.values()), starts, rows, options)
    return {
        name: Trainer(
            kernel,
            SearchSpace.of(kernel),
            options.objective,
            start,
            rows.n_rows,
            options.max_evaluations,
            engine,
            reporter,
            log,
            trying=name,
        )
        for (name, kernel), start in zip(kernels.items(), starts, strict=True)
    }


def _before_metric(kernel: KernelFunction, rows: DividedRows[ArrangedRows], experts: IntArray) -> SomeExperts:
    """Some experts of the first division; of the communication expert no more rows than of the others."""
    return rows.part(kernel, experts, ordinary_rows(rows.sizes))


def _pilot(trainer: Trainer, course: Course, rows: DividedRows[ArrangedRows], parts: Sequence[IntArray]) -> Course:
    """Stages on a few experts, which learn the metric: those on as many experts as the course has seen, or more."""
    seen = course.stages[-1].n_experts if course.stages else 0
    for experts in parts:
        if len(experts) >= seen:
            course = trainer.stage(course, _before_metric(trainer.kernel, rows, experts), EARLY_TOLERANCE)
    return course


def most_experts(training_experts: int | str, n_experts: int) -> int:
    """Experts that training may use.

    Raises
    ------
    InvalidParameterError
        If more are asked for than there are.
    """
    if isinstance(training_experts, str):
        return n_experts
    if training_experts > n_experts:
        raise InvalidParameterError(
            f"training_experts={training_experts} exceeds the {n_experts} experts; choose a number from 1 to "
            f"{n_experts}, 'auto' or 'all'."
        )
    return training_experts


def _open_log(
    kernels: Sequence[KernelFunction],
    starts: Sequence[FloatArray],
    rows: DividedRows[ArrangedRows],
    options: FitOptions,
) -> EvaluationLog | None:
    if options.checkpoint is None or not options.optimise:
        return None
    versions = (torch.__version__, gpytorch.__version__, scipy.__version__)
    identities = [kernel.identity for kernel in kernels]
    settings = (*identities, str(kernels[0].dtype), options.objective, *versions)
    return EvaluationLog(options.checkpoint, fingerprint(settings, (*starts, *rows.identity())))
