"""NPAE over a few experts at each test point, on a cluster: ranked where they are, combined where their rows are taken.

Every task ranks its own experts at a batch of test points, and rankings are merged to the few of each point. Neighbours
choose alike: for each group of them one worker takes the rows of its experts, a few of all, and runs the code of one
machine on a committee of these alone, whose most certain experts are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpcommittee.aggregation import NPAE, Experts
from gpcommittee.cluster.predict import EXPERTS_PER_TASK, FAN_IN, Answer, Numerics, joined_answers
from gpcommittee.cluster.sharded import ShardedRows, experts_text
from gpcommittee.cluster.worker import Model, Rows, engine_on
from gpcommittee.prediction import FactorStore, Request, predict_rules
from gpcommittee.prediction.certain import Ranking, merged, ranked
from gpcommittee.prediction.restricted import Needs, groups_of_experts, n_available, n_chosen
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray, IntArray, Prediction, Shard

if TYPE_CHECKING:
    from distributed import Future

Group = tuple[IntArray, IntArray]
"""Numbers of test points, and of the experts among which they choose."""


def submit_restricted(
    rows: ShardedRows,
    model: Future[Any],
    rule: NPAE,
    X: FloatArray | Future[Any],
    mean_only: bool,
    budget: float,
) -> Future[Any]:
    """Start the prediction of a batch; which experts it takes is waited for.

    Parameters
    ----------
    rows : ShardedRows
    model : Future of Model
        In float64.
    rule : NPAE
        Over some experts, or over augmented ones.
    X : ndarray, shape (n_points, n_features), or Future of one
        At least one point, in original units.
    mean_only : bool
    budget : float
        Bytes that one task may take.

    Returns
    -------
    Future of Answer

    Raises
    ------
    MemoryBudgetError
        If one group of test points and the factors of its experts exceed the budget.
    """
    cluster, needs = rows.cluster, Needs.of([rule], rows.offsets, n_workers=1)
    size = needs.group_size(budget)
    points = cluster.kept("points", X)
    ranking = _submit_ranking(rows, model, rule, points)
    groups: list[Group] = cluster.result(
        cluster.submit(
            "group", "test points", _grouped, model, points, rows.communication, needs, size, budget, ranking
        )
    )
    answers = [
        cluster.submit(
            "predict",
            "test points",
            _of_group,
            model,
            rule,
            mean_only,
            budget,
            points,
            numbers,
            rows.communication,
            *_parts(rows, experts),
        )
        for numbers, experts in groups
    ]
    return cluster.submit("finish", "test points", _in_place, [numbers for numbers, _ in groups], *answers)


def _submit_ranking(rows: ShardedRows, model: Future[Any], rule: NPAE, points: Future[Any]) -> Future[Any] | int:
    """Start the ranking of all experts at all points; where all are taken, their number."""
    available = n_available(rule, rows.n_experts)
    k = n_chosen(rule, available)
    if k == available:
        return available
    cluster, common = rows.cluster, (model, rule.experts, k, points, rows.communication)
    parts = [] if rule.augmented else [cluster.submit("rank", "the communication expert", _ranked, *common)]
    parts += [
        cluster.submit("rank", unit.about, _ranked, *common, unit.shard, (unit.first, unit.stop))
        for unit in rows.units(EXPERTS_PER_TASK)
    ]
    while len(parts) > 1:
        fans = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
        parts = [cluster.submit("merge", "rankings of experts", _merged, k, *fan) for fan in fans]
    return parts[0]


def _parts(rows: ShardedRows, experts: IntArray) -> list[Future[Any]]:
    """The rows of these experts, each task taking those of one shard."""
    parts = []
    for shard, (first, stop) in zip(rows.placed.shards, pairwise(rows.firsts.tolist()), strict=True):
        own = experts[(experts >= first) & (experts < stop)]
        if len(own):
            about = experts_text(int(own[0]), int(own[-1]))
            parts.append(rows.cluster.submit("rows", about, _some_experts, shard, own - first))
    return parts


def _ranked(
    model: Model,
    kind: Experts,
    k: int,
    X: FloatArray,
    communication: Rows,
    shard: Shard | None = None,
    experts: tuple[int, int] | None = None,
) -> Ranking:
    committee = model.committee(communication, shard, experts)
    store, request = FactorStore(committee, 0.0), Request(committee, model.scaling, X)
    first = 0 if shard is None else 1
    return ranked(kind, k, request, store, engine_on(model.device), SilentReporter(), first)


def _merged(k: int, *rankings: Ranking) -> Ranking:
    """In the order of the experts."""
    whole = rankings[0]
    for ranking in rankings[1:]:
        whole = merged(k, whole, ranking)
    return whole


def _grouped(
    model: Model,
    X: FloatArray,
    communication: Rows,
    needs: Needs,
    size: int,
    budget: float,
    ranking: Ranking | int,
) -> list[Group]:
    if isinstance(ranking, Ranking):
        experts = ranking.expert.numpy()
    else:
        n_experts = len(needs.rows)
        experts = np.broadcast_to(np.arange(n_experts - ranking, n_experts), (len(X), ranking))
    spread = Request(model.committee(communication), model.scaling, X).spread()
    groups = groups_of_experts(spread, experts, size, needs, budget)
    return [(numbers, np.unique(experts[numbers])) for numbers in groups]


def _some_experts(shard: Shard, experts: IntArray) -> tuple[FloatArray, FloatArray, list[int]]:
    """Inputs, target and numbers of rows of some of a shard's experts, counted from 0 in the shard."""
    rows = [np.arange(shard.offsets[expert], shard.offsets[expert + 1]) for expert in experts]
    together = np.concatenate(rows)
    return shard.X[together], shard.y[together], [len(one) for one in rows]


def _of_group(
    model: Model,
    rule: NPAE,
    mean_only: bool,
    budget: float,
    X: FloatArray,
    numbers: IntArray,
    communication: Rows,
    *parts: tuple[FloatArray, FloatArray, list[int]],
) -> Answer:
    sizes = [size for _, _, part in parts for size in part]
    some = None
    if parts:
        offsets = np.cumsum([0, *sizes])
        some = Shard(np.concatenate([X for X, _, _ in parts]), np.concatenate([y for _, y, _ in parts]), offsets, 1)
    committee = model.committee(communication, some)
    store, engine = FactorStore(committee, budget, model.calibrated), engine_on(model.device)
    predictions = predict_rules(store, model.scaling, X[numbers], [rule], engine, SilentReporter(), mean_only=mean_only)
    return Answer(predictions, Numerics.of(store))


def _in_place(groups: Sequence[IntArray], *answers: Answer) -> Answer:
    """The answer at all points, in their order."""
    order, whole = np.argsort(np.concatenate(groups)), joined_answers(*answers)

    def ordered(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else values[order]

    return Answer(
        [Prediction(one.mean[order], ordered(one.var_latent), ordered(one.var_noisy)) for one in whole.predictions],
        whole.numerics,
    )
