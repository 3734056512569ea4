"""From standardised data to a committee whose rows are divided, if need be in the metric of its own lengthscales."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import gpytorch
import numpy as np
import scipy
import torch
from torch import Tensor

from gpcommittee.data import Rows
from gpcommittee.data.rows import places
from gpcommittee.engines import Engine
from gpcommittee.errors import InvalidParameterError
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction, input_scales
from gpcommittee.kernels.metric import sampled
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Hyperparameters, IntArray, KernelScore, Partition
from gpcommittee.training.checkpoint import EvaluationLog, fingerprint
from gpcommittee.training.families import choose_family
from gpcommittee.training.part import Part
from gpcommittee.training.schedule import COMPARED, expert_order, pilot_sizes
from gpcommittee.training.space import SearchSpace
from gpcommittee.training.staged import EARLY_TOLERANCE, Course, Trainer

METRICS = ("learned", "standardised")
"""Distances in which rows are divided."""

TRAINING_EXPERTS = ("auto", "all")
"""What a number of experts to train on may be besides a number."""

Divide = Callable[[FloatArray], Partition]
"""From inputs to a partition, always with the same communication set."""


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
    expert_variances : str
        "shared" or "own": whether each expert has signal and noise variances of its own at the end.
    """

    optimise: bool
    max_evaluations: int
    checkpoint: str | os.PathLike[str] | None
    training_experts: int | str
    partition_metric: str
    objective: str
    seed: int
    expert_variances: str = "shared"


@dataclass(frozen=True)
class Prepared:
    """A fit whose rows are divided.

    Attributes
    ----------
    committee : Committee
        With the hyperparameters learned so far.
    partition : Partition
    metric : str
        In which the rows were divided.
    course : Course
        Stages that chose the kernel or learned the metric, if any.
    trainer : Trainer
    options : FitOptions
    kernel_name : str
        The kernel's.
    kernel_scores : mapping of str to KernelScore
        Of all kernels, if several were compared.
    """

    committee: Committee
    partition: Partition
    metric: str
    course: Course
    trainer: Trainer
    options: FitOptions
    kernel_name: str
    kernel_scores: Mapping[str, KernelScore]


def arrange(kernel: KernelFunction, rows: Rows, partition: Partition, noise_variance: float) -> Committee:
    """The committee before training: rows ordered by expert, the kernel's present values as hyperparameters.

    Parameters
    ----------
    kernel : KernelFunction
    rows : Rows
    partition : Partition
    noise_variance : float
        On a target of variance 1.

    Returns
    -------
    Committee
    """
    return Committee(
        kernel,
        Hyperparameters(kernel.start, float(np.log(noise_variance))),
        _ordered(kernel, rows, partition.order),
        kernel.tensor(rows.y[partition.order]),
        partition.offsets,
    )


def _ordered(kernel: KernelFunction, rows: Rows, order: IntArray) -> Tensor:
    """Standardised inputs in an order, put there from one block after the other."""
    like = kernel.tensor(np.empty(0))
    ordered, to = like.new_empty((len(rows), rows.n_features)), torch.from_numpy(places(order)).to(like.device)
    for block in rows.blocks():
        ordered.index_copy_(0, to[block], kernel.tensor(rows.some(block)[0]))
    return ordered


def prepare(
    kernels: Mapping[str, KernelFunction],
    rows: Rows,
    noise_variance: float,
    divide: Divide,
    options: FitOptions,
    engine: Engine,
    reporter: Reporter,
) -> Prepared:
    """Choose the kernel and divide the rows among experts, in the learned metric if that is asked for.

    Of several kernels, the one that does best on a few experts is chosen, and training goes on from where it ended.

    In the learned metric rows are divided as they are, lengthscales are learned on a few experts, and rows are divided
    again with the inputs divided by the lengthscales. Where nothing is optimised, the kernel's present ones serve.

    Parameters
    ----------
    kernels : mapping of str to KernelFunction
        By name; several are compared, which takes optimising.
    rows : Rows
    noise_variance : float
        Its start, on a target of variance 1.
    divide : callable
    options : FitOptions
    engine : Engine
    reporter : Reporter

    Returns
    -------
    Prepared

    Raises
    ------
    InvalidInputError
        If a row is so far from the others that its distance overflows.
    InvalidParameterError
        If more experts are to be trained on than there are.
    CheckpointError
        If the checkpoint belongs to another fit.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start.
    """
    partition = divide(rows.inputs())
    order = expert_order(partition.n_experts, options.seed)
    most = most_experts(options.training_experts, partition.n_experts)
    trainers = _trainers(kernels, rows, noise_variance, partition, options, engine, reporter)
    name, scores = next(iter(trainers)), dict[str, KernelScore]()
    course, metric = Course(trainers[name].start), "standardised"
    if len(trainers) > 1:
        part = Part.of_rows(kernels[name], rows, partition, order[: min(COMPARED, most)])
        chosen = choose_family(trainers, part)
        name, course, scores = chosen.name, chosen.course, dict(chosen.scores)
        reporter.message(f"Chose the kernel {name} among {len(scores)} on {part.rows.sum():,} rows.")
    kernel, trainer = kernels[name], replace(trainers[name], trying="")
    if options.partition_metric == "learned" and partition.n_experts > 2 and rows.n_features > 1:
        if options.optimise:
            sizes = pilot_sizes(partition.n_experts, most)
            course = _pilot(trainer, course, rows, partition, [order[:n] for n in sizes])
        scales = input_scales(kernel, course.theta[:-1], rows.some(sampled(len(rows)))[0])
        if scales is not None:
            partition, metric = divide(rows.inputs(scales)), "learned"
    arranged = arrange(kernel, rows, partition, noise_variance)
    committee = replace(arranged, hyperparameters=course.hyperparameters)
    return Prepared(committee, partition, metric, course, trainer, options, name, scores)


def _trainers(
    kernels: Mapping[str, KernelFunction],
    rows: Rows,
    noise_variance: float,
    partition: Partition,
    options: FitOptions,
    engine: Engine,
    reporter: Reporter,
) -> dict[str, Trainer]:
    """One for each kernel, with one log."""
    starts = [np.append(kernel.start, np.log(noise_variance)) for kernel in kernels.values()]
    log = _open_log(list(kernels.values()), starts, rows, partition, options)
    return {
        name: Trainer(
            kernel,
            SearchSpace.of(kernel),
            options.objective,
            start,
            len(rows),
            options.max_evaluations,
            engine,
            reporter,
            log,
            trying=name,
        )
        for (name, kernel), start in zip(kernels.items(), starts, strict=True)
    }


def _pilot(trainer: Trainer, course: Course, rows: Rows, partition: Partition, parts: Sequence[IntArray]) -> Course:
    """Stages on a few experts, which learn the metric: those on more experts than the course has seen."""
    seen = course.stages[-1].n_experts if course.stages else 0
    for experts in parts:
        if len(experts) > seen:
            course = trainer.stage(course, Part.of_rows(trainer.kernel, rows, partition, experts), EARLY_TOLERANCE)
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
    rows: Rows,
    partition: Partition,
    options: FitOptions,
) -> EvaluationLog | None:
    if options.checkpoint is None or not options.optimise:
        return None
    versions = (torch.__version__, gpytorch.__version__, scipy.__version__)
    identities = [kernel.identity for kernel in kernels]
    settings = (*identities, str(kernels[0].dtype), options.objective, *versions)
    arrays = (*starts, partition.offsets, partition.order, rows.inputs(), rows.y)
    return EvaluationLog(options.checkpoint, fingerprint(settings, arrays))
