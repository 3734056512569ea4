"""From divided rows to a fitted committee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpcommittee.experts import Committee
from gpcommittee.training.optimise import Trained
from gpcommittee.training.own import with_own_variances
from gpcommittee.training.part import Part
from gpcommittee.training.prepare import Prepared, most_experts
from gpcommittee.training.schedule import FEW, expert_order
from gpcommittee.training.staged import train_in_stages


def fit_committee(prepared: Prepared) -> tuple[Committee, Trained | None]:
    """Learn the hyperparameters of a committee, and then the variances of its experts if they have their own.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    committee : Committee
    trained : Trained or None
        None when nothing was optimised.

    Raises
    ------
    CheckpointError
        If the checkpoint cannot be written.
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored at the start.
    """
    committee, trained = _with_shared(prepared)
    if prepared.options.expert_variances == "own":
        committee = with_own_variances(committee, prepared.trainer.engine, prepared.trainer.reporter)
    return committee, trained


def _with_shared(prepared: Prepared) -> tuple[Committee, Trained | None]:
    options, trainer, n_experts = prepared.options, prepared.trainer, prepared.partition.n_experts
    if not options.optimise:
        return prepared.committee, None
    order = expert_order(n_experts, options.seed)

    def first(size: int) -> Part:
        experts = order[:size] if size < n_experts else np.arange(size)
        return Part.of_committee(prepared.committee, prepared.partition, experts, prepared.metric)

    if options.training_experts == "auto" and n_experts > FEW:
        course = train_in_stages(trainer, prepared.course, first, n_experts)
    else:
        course = trainer.stage(prepared.course, first(most_experts(options.training_experts, n_experts)))
    trained = course.trained
    if trainer.log is not None and trainer.log.reused:
        trainer.reporter.message(f"Reused {trainer.log.reused} evaluations from the checkpoint {trainer.log.path}.")
    return replace(prepared.committee, hyperparameters=trained.hyperparameters), trained
