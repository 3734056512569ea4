"""From standardised data and a partition to a fitted committee."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from gpcommittee.engines import Engine
from gpcommittee.experts import Committee
from gpcommittee.kernels import KernelFunction
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Hyperparameters, Partition
from gpcommittee.training.checkpoint import EvaluationLog, fingerprint
from gpcommittee.training.objective import FactorisedObjective
from gpcommittee.training.optimise import Trained, train
from gpcommittee.training.space import SearchSpace


@dataclass(frozen=True)
class FitOptions:
    """How the hyperparameters are learned.

    Attributes
    ----------
    optimise : bool
    max_evaluations : int
    checkpoint : path-like or None
    """

    optimise: bool
    max_evaluations: int
    checkpoint: str | os.PathLike[str] | None


def arrange(
    kernel: KernelFunction, X: FloatArray, y: FloatArray, partition: Partition, noise_variance: float
) -> Committee:
    """The committee before training: rows ordered by expert, the kernel's present values as hyperparameters.

    Parameters
    ----------
    kernel : KernelFunction
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs.
    y : ndarray, shape (n_rows,)
        Standardised target.
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
        kernel.tensor(X[partition.order]),
        kernel.tensor(y[partition.order]),
        partition.offsets,
    )


def fit_committee(
    initial: Committee, options: FitOptions, engine: Engine, reporter: Reporter
) -> tuple[Committee, Trained | None]:
    """Learn the hyperparameters of a committee.

    Parameters
    ----------
    initial : Committee
        Its hyperparameters are the start.
    options : FitOptions
    engine : Engine
    reporter : Reporter

    Returns
    -------
    committee : Committee
    trained : Trained or None
        None when nothing was optimised.

    Raises
    ------
    CheckpointError
        If the checkpoint belongs to another fit.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start.
    """
    if not options.optimise:
        return initial, None
    start = np.append(initial.hyperparameters.kernel, initial.hyperparameters.log_noise_variance)
    blocks = [initial.block(expert) for expert in range(initial.n_experts)]
    objective = FactorisedObjective(initial.kernel, blocks, engine)
    log = _open_log(initial, start, options)
    space = SearchSpace.of(initial.kernel)
    trained = train(objective, len(initial.y), space, start, options.max_evaluations, reporter, log)
    if log is not None and trained.record.reused:
        reporter.message(f"Reused {trained.record.reused} evaluations from the checkpoint {log.path}.")
    return replace(initial, hyperparameters=trained.hyperparameters), trained


def _open_log(committee: Committee, start: FloatArray, options: FitOptions) -> EvaluationLog | None:
    if options.checkpoint is None:
        return None
    arrays = (start, committee.offsets, committee.X.cpu().numpy(), committee.y.cpu().numpy())
    return EvaluationLog(options.checkpoint, fingerprint([committee.kernel.description], arrays))
