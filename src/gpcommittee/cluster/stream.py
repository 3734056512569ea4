"""Predictions of one rule at points that lie on the cluster, for files that workers write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpcommittee.aggregation import NPAE, AdditiveRule, Neighbourhood, Rule
from gpcommittee.cluster.answers import npae_chunk
from gpcommittee.cluster.neighbourhood import MANY_POINTS, prepared
from gpcommittee.cluster.npae import submit_npae
from gpcommittee.cluster.predict import Answer, joined_answers, submit_additive
from gpcommittee.cluster.sharded import ShardedRows, digests
from gpcommittee.cluster.tasks import Refusal
from gpcommittee.cluster.worker import Model
from gpcommittee.data import prediction_columns
from gpcommittee.distributed import BATCH_POINTS
from gpcommittee.prediction import scaled
from gpcommittee.records import FloatArray
from gpcommittee.training.checkpoint import fingerprint

if TYPE_CHECKING:
    from distributed import Future


def points_together(rule: Rule) -> int:
    """Test points that are predicted together: more where factors may have to be made again for each batch."""
    return MANY_POINTS if isinstance(rule, Neighbourhood) else BATCH_POINTS


def submitter(
    rows: ShardedRows, model: Model, rule: Rule, memory_budget: float | None
) -> Callable[[Future[Any], int], Future[Any]]:
    """How points on the cluster are predicted.

    Parameters
    ----------
    rows : ShardedRows
    model : Model
    rule : Rule
    memory_budget : float or None
        GiB that one task of NPAE or of neighbourhood experts may take.

    Returns
    -------
    callable
        From a future of points and their number, at least 1, to a future of an answer.

    Raises
    ------
    MemoryBudgetError
        If NPAE or neighbourhood experts do not fit the memory budget.
    """
    cluster = rows.cluster
    if isinstance(rule, AdditiveRule):
        kept, chosen = cluster.keep("model", model), [rule]
        return lambda points, n_points: submit_additive(rows, kept, chosen, points, mean_only=False)
    if isinstance(rule, Neighbourhood):
        kept, blend = cluster.keep("model", model), rule.blend
        placed = prepared(rows, model, rule, memory_budget)
        return lambda points, n_points: placed.submit(kept, blend, points, mean_only=False)
    nested = cast(NPAE, rule)
    sound, size = npae_chunk(rows, model, memory_budget)
    kept = cluster.keep("model", sound)

    def submit(points: Future[Any], n_points: int) -> Future[Any]:
        chunks = [
            cluster.submit("points", "test points", _some, points, start, start + size)
            for start in range(0, n_points, size)
        ]
        answers = [submit_npae(rows, kept, [nested], chunk, mean_only=False) for chunk in chunks]
        return cluster.submit("join", "test points", joined_answers, *answers)

    return submit


def to_columns(
    answer: Answer | Refusal, deviations: float, scale: float, include_noise: bool
) -> Mapping[str, FloatArray]:
    """Columns of a file, on a worker.

    Parameters
    ----------
    answer : Answer
        Of one rule.
    deviations : float
        Half the width of an interval, in standard deviations.
    scale : float
        Of variances.
    include_noise : bool
        Standard deviations of a new observation; otherwise of the function value.

    Raises
    ------
    GPCommitteeError
        As a task before this one raised it.
    """
    if isinstance(answer, Refusal):
        raise answer.error
    return prediction_columns(scaled(answer.predictions[0], scale), deviations, include_noise)


def identity_of(rows: ShardedRows, model: Model, *question: object) -> str:
    """What tells this model, and what is asked of it, from any other."""
    scaling, placed = model.scaling, rows.placed
    arrays = (
        model.hyperparameters.kernel,
        np.array([model.hyperparameters.log_noise_variance, scaling.y_mean, scaling.y_scale]),
        scaling.x_mean,
        scaling.x_scale,
        placed.communication_X,
        placed.communication_y,
        placed.sizes,
        digests(rows.held),
    )
    settings = (model.kernel.identity, str(model.kernel.dtype), model.calibrated, *question)
    return fingerprint(settings, arrays)


def _some(points: FloatArray, start: int, stop: int) -> FloatArray:
    return points[start:stop]
