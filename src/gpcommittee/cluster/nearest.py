"""Sums of the nearest experts on a cluster: points are grouped once for a batch, shards add what they are near to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from gpcommittee.aggregation import AdditiveRule, Experts, Reference, empty
from gpcommittee.cluster.sums import PartialSum
from gpcommittee.cluster.worker import Model, Rows, engine_on
from gpcommittee.engines import Engine
from gpcommittee.prediction import FactorStore, Request
from gpcommittee.prediction.nearest import add_faded, neighbourhoods
from gpcommittee.prediction.neighbourhood import Neighbourhood
from gpcommittee.prediction.view import View
from gpcommittee.records import FloatArray

Groups = Mapping[Experts, Sequence[Neighbourhood]]
"""All points of a batch, group by group, for each form of experts that rules sum."""


def grouped(model: Model, rules: Sequence[AdditiveRule], X: FloatArray, communication: Rows) -> Groups:
    """Group the points of a batch, for the rules that sum the nearest experts.

    Parameters
    ----------
    model : Model
    rules : sequence of AdditiveRule
    X : ndarray, shape (n_points, n_features)
        In original units.
    communication : (X, y)

    Returns
    -------
    Groups
    """
    request, engine = Request(model.committee(communication), model.scaling, X), engine_on(model.device)
    by_form = {rule.experts: rule for rule in rules if model.sums_nearest(rule)}
    return {form: neighbourhoods(rule, request, engine, model.nearest) for form, rule in by_form.items()}


def nearest_part(
    model: Model, rule: AdditiveRule, groups: Groups, request: Request, store: FactorStore, engine: Engine, first: int
) -> PartialSum:
    """The sum over the store's experts that are among the nearest, from a first one, where they are.

    Parameters
    ----------
    model : Model
    rule : AdditiveRule
    groups : Groups
    request : Request
        The batch, for the store's committee.
    store : FactorStore
        Of the communication expert and some consecutive others.
    engine : Engine
    first : int
        Number in the store's committee of the first expert that is summed.

    Returns
    -------
    PartialSum
    """
    committee = store.committee
    shift = committee.number(first) - first
    numbers = range(first + shift, committee.n_experts + shift)
    here = [(group, group.among(numbers)) for group in groups[rule.experts]]
    wanted = sorted({int(expert) - shift for _, experts in here for expert in experts})
    factors = store.load(frozenset({rule.experts}), wanted, engine)
    nothing = PartialSum(torch.arange(0), empty(committee.prior_variance(request.points(slice(0, 0)))))
    parts = [nothing]
    for group, experts in here:
        share = group.shares(model.nearest.boxes, experts)
        near = np.flatnonzero(share.any(axis=1))
        if len(near):
            x = request.points(group.rows[near])
            with torch.no_grad():
                view = View(committee, factors, x, rule.reference is Reference.COMMUNICATION)
                none = empty(view.context.prior_variance)
                columns = torch.from_numpy(share[near]).to(x)
                total = add_faded(rule, none, view, (experts - shift).tolist(), columns, engine)
            parts.append(PartialSum(torch.from_numpy(group.rows[near]), total))
    return PartialSum.of(parts)
