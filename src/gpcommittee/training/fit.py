"""From divided rows to learned hyperparameters."""

from __future__ import annotations

import numpy as np

from gpcommittee.records import Hyperparameters
from gpcommittee.training.optimise import Trained
from gpcommittee.training.part import SomeExperts
from gpcommittee.training.prepare import Prepared, most_experts
from gpcommittee.training.rows import ArrangedRows
from gpcommittee.training.schedule import FEW, expert_order
from gpcommittee.training.staged import train_in_stages


def fit_hyperparameters(prepared: Prepared[ArrangedRows]) -> tuple[Hyperparameters, Trained | None]:
    """Learn the hyperparameters of a committee.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    hyperparameters : Hyperparameters
    trained : Trained or None
        None when nothing was optimised.

    Raises
    ------
    CheckpointError
        If the checkpoint cannot be written.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start.
    """
    options, trainer, n_experts = prepared.options, prepared.trainer, prepared.rows.n_experts
    if not options.optimise:
        return prepared.course.hyperparameters, None
    order = expert_order(n_experts, options.seed)

    def first(size: int) -> SomeExperts:
        return prepared.rows.part(order[:size] if size < n_experts else np.arange(size))

    if options.training_experts == "auto" and n_experts > FEW:
        course = train_in_stages(trainer, prepared.course, first, n_experts)
    else:
        course = trainer.stage(prepared.course, first(most_experts(options.training_experts, n_experts)))
    trained = course.trained
    if trainer.log is not None and trainer.log.reused:
        trainer.reporter.message(f"Reused {trainer.log.reused} evaluations from the checkpoint {trainer.log.path}.")
    return trained.hyperparameters, trained
