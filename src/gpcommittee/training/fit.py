"""From standardised data and a partition to a fitted committee."""

from __future__ import annotations

import os
from dataclasses import dataclass

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
    noise_variance : float
        Start, or the value itself when nothing is optimised; on a target of variance 1.
    optimise : bool
    max_evaluations : int
    checkpoint : path-like or None
    """

    noise_variance: float
    optimise: bool
    max_evaluations: int
    checkpoint: str | os.PathLike[str] | None


def fit_committee(
    kernel: KernelFunction,
    X: FloatArray,
    y: FloatArray,
    partition: Partition,
    options: FitOptions,
    engine: Engine,
    reporter: Reporter,
) -> tuple[Committee, Trained | None]:
    """Order the rows by expert and learn the hyperparameters.

    Parameters
    ----------
    kernel : KernelFunction
        Its present values are the start.
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs.
    y : ndarray, shape (n_rows,)
        Standardised target.
    partition : Partition
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
    start = np.append(kernel.start, np.log(options.noise_variance))
    initial = Committee(
        kernel,
        Hyperparameters(start[:-1], float(start[-1])),
        kernel.tensor(X[partition.order]),
        kernel.tensor(y[partition.order]),
        partition.offsets,
    )
    if not options.optimise:
        return initial, None
    blocks = [initial.block(expert) for expert in range(initial.n_experts)]
    objective = FactorisedObjective(kernel, blocks, engine)
    log = _open_log(initial, start, options)
    space = SearchSpace.of(kernel)
    trained = train(objective, len(y), space, start, options.max_evaluations, reporter, log)
    if log is not None and trained.record.reused:
        reporter.message(f"Reused {trained.record.reused} evaluations from the checkpoint {log.path}.")
    return Committee(kernel, trained.hyperparameters, initial.X, initial.y, initial.offsets), trained


def _open_log(committee: Committee, start: FloatArray, options: FitOptions) -> EvaluationLog | None:
    if options.checkpoint is None:
        return None
    arrays = (start, committee.offsets, committee.X.cpu().numpy(), committee.y.cpu().numpy())
    return EvaluationLog(options.checkpoint, fingerprint([committee.kernel.description], arrays))
