"""Compress all experts of a committee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import AdditiveRule, Experts, Reference
from gpcommittee.engines import Engine
from gpcommittee.experts import AugmentedFactor
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.nearest import summed_experts
from gpcommittee.prediction.reference_view import view
from gpcommittee.prediction.tolerance.by_distance import N_STEPS, pooled
from gpcommittee.prediction.tolerance.compression import (
    Compressed,
    Elsewhere,
    Largest,
    compress,
    half_of,
    numerical_rank,
    outside,
)
from gpcommittee.prediction.tolerance.far_field import FarField
from gpcommittee.progress import Reporter
from gpcommittee.records import IntArray

SEARCHED = 2**18
"""Rows of the committee among which different ones are searched for."""

ELSEWHERE = 4096
"""Different rows from which points elsewhere are taken."""

FEWEST_DIFFERENT = 1024
"""Different rows of which fewer, where most rows repeat another, say too little of what is between them."""

MOST = 64
"""Most rows that stand for an expert."""

PROBED = 32
"""Experts whose ranks say how many rows stand for each."""

ENOUGH = 0.9
"""Share of these for which they are enough."""

STEP = 8
"""Of that number."""


def far_field(rule: AdditiveRule, store: FactorStore, engine: Engine, reporter: Reporter) -> FarField:
    """Compress all experts that a rule sums, given its reference.

    Parameters
    ----------
    rule : AdditiveRule
    store : FactorStore
    engine : Engine
    reporter : Reporter

    Returns
    -------
    FarField
    """
    committee, kind = store.committee, rule.experts
    experts = np.array(summed_experts(rule, committee.n_experts))
    elsewhere = _elsewhere(rule, store, engine)
    p = _n_rows(store, kind, elsewhere, experts, engine)
    coupled = rule.reference is Reference.COMMUNICATION
    zeros = partial(committee.X.new_zeros, len(experts))
    ranks = np.ones(len(experts), dtype=np.int64)
    field = FarField(
        experts,
        zeros(p, committee.X.shape[1]),
        zeros(p, len(store.communication(engine).X)) if coupled else None,
        zeros(),
        _unknown(experts),
        zeros(p, p + 1),
        zeros(half_of(p), half_of(p) + 1),
        _unknown(experts),
    )

    def fill(factors: Mapping[int, Factor], number: int) -> None:
        expert = int(experts[number])
        factor = factors[expert]
        field.log_dispersion[number] = np.log(factor.dispersion)
        compressed = compress(committee, factor, *outside(elsewhere, store.boxes, expert), p)
        if compressed is not None:
            _keep(field, number, factor, compressed)
            ranks[number] = max(1, len(compressed.rows))

    with reporter.stage("compress", len(experts), unit="experts") as stage:
        for group in store.groups(frozenset({kind})):
            numbers = np.flatnonzero(np.isin(experts, np.array(group)))
            factors = store.of_kind(kind, experts[numbers].tolist(), engine)
            for _ in engine.map(torch.no_grad()(partial(fill, factors)), numbers.tolist()):
                stage.advance()
    return replace(field, known=_pooled(field.known, ranks), errors=_pooled(field.errors, ranks))


def _unknown(experts: IntArray) -> Largest:
    return Largest(np.full((len(experts), N_STEPS), np.inf), np.full((len(experts), N_STEPS), np.inf))


def _pooled(largest: Largest, ranks: IntArray) -> Largest:
    return Largest(pooled(largest.gain, ranks), pooled(largest.shift, ranks))


def _keep(field: FarField, number: int, factor: Factor, compressed: Compressed) -> None:
    rows, p = torch.from_numpy(compressed.rows), len(compressed.rows)
    field.X[number, :p] = factor.X[rows]
    if field.coupling is not None and isinstance(factor, AugmentedFactor):
        field.coupling[number, :p] = factor.coupling[rows]
    _fill(field.map[number], compressed.map)
    _fill(field.half[number], compressed.half)
    _copy(field.known, number, compressed.known)
    _copy(field.errors, number, compressed.errors)


def _fill(into: Tensor, map_: Tensor) -> None:
    """Of an expert with fewer rows than others the rest stays zero."""
    p = len(map_)
    into[:p, :p], into[:p, -1] = map_[:, :-1], map_[:, -1]


def _copy(into: Largest, number: int, largest: Largest) -> None:
    into.gain[number], into.shift[number] = largest.gain, largest.shift


def _elsewhere(rule: AdditiveRule, store: FactorStore, engine: Engine) -> Elsewhere:
    """Different rows of the whole committee, evenly over its experts: none where they say too little."""
    X = store.committee.X
    searched = X[torch.from_numpy(_evenly(len(X), SEARCHED))]
    distinct = np.sort(np.unique(searched.numpy(), axis=0, return_index=True)[1])
    enough = len(distinct) >= min(FEWEST_DIFFERENT, len(searched) / 2)
    x = searched[torch.from_numpy(distinct[_evenly(len(distinct), ELSEWHERE if enough else 0)])]
    with torch.no_grad():
        points = view(store.committee, rule.reference, store.communication(engine), x)
    return Elsewhere(points, x.numpy() / store.boxes.scales)


def _evenly(n: int, most: int) -> IntArray:
    """So many of the numbers below n, all of them if there are no more, ascending."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


def _n_rows(store: FactorStore, kind: Experts, elsewhere: Elsewhere, experts: IntArray, engine: Engine) -> int:
    """Rows that stand for each expert: enough for most of some that are tried."""
    probed: list[int] = experts[_evenly(len(experts), PROBED)].tolist()
    factors = store.of_kind(kind, probed, engine)

    @torch.no_grad()
    def needed(expert: int) -> int:
        seen, _ = outside(elsewhere, store.boxes, expert)
        return numerical_rank(store.committee, factors[expert], seen) if len(seen.squares) else 1

    ranks = list(engine.map(needed, probed))
    most = int(np.quantile(ranks, ENOUGH, method="higher"))
    return min(MOST, STEP * max(1, -(-most // STEP)))
