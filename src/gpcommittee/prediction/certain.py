"""The most certain experts at each test point, in one pass: K numbers per point are kept, never one per expert."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from gpcommittee.aggregation import Experts
from gpcommittee.engines import Engine
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.request import Request
from gpcommittee.prediction.stream import Summary, summaries
from gpcommittee.prediction.view import View
from gpcommittee.progress import Reporter
from gpcommittee.records import IntArray

RESOLUTION = 2.0**-40
"""Share of the prior variance to which experts are compared: far above rounding, which then decides nothing."""


@dataclass(frozen=True)
class Ranking:
    """The most certain of some experts, the most certain first and of equals the one with the lower number.

    Attributes
    ----------
    variance : Tensor, shape (n_points, k)
        Latent variance over the prior's, in units of ``RESOLUTION``.
    expert : Tensor of int64, shape (n_points, k)
    """

    variance: Tensor
    expert: Tensor

    def first(self, k: int) -> Ranking:
        """The ``k`` most certain of experts in any order, in which the lower number comes first."""
        order = torch.sort(self.variance, dim=1, stable=True).indices[:, :k]
        return Ranking(self.variance.gather(1, order), self.expert.gather(1, order))


def most_certain(
    kind: Experts, k: int, request: Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> IntArray:
    """Numbers of the ``k`` most certain experts at every test point, in their order; as in ``ranked``.

    Returns
    -------
    ndarray of int64, shape (n_points, k)
    """
    numbers: IntArray = ranked(kind, k, request, store, engine, reporter).expert.numpy()
    return numbers


def ranked(
    kind: Experts, k: int, request: Request, store: FactorStore, engine: Engine, reporter: Reporter, first: int = 0
) -> Ranking:
    """The ``k`` most certain experts at every test point, or all where there are fewer.

    Parameters
    ----------
    kind : Experts
        Form of the experts.
    k : int
    request : Request
    store : FactorStore
    engine : Engine
    reporter : Reporter
    first : int
        The first expert that is ranked.

    Returns
    -------
    Ranking
        On the CPU; experts by their numbers in the whole committee.

    Raises
    ------
    NotPositiveDefiniteError
        If an expert's covariance cannot be factored.
    """
    summary = Summary(frozenset({kind}), kind is Experts.AUGMENTED, partial(_rank_block, kind, k), partial(merged, k))
    name = "predict (most certain experts)"
    parts = [part for _, part in summaries(summary, request, store, engine, reporter, name, first)]
    if not parts:
        return Ranking(torch.empty(0, k), torch.empty(0, k, dtype=torch.int64))
    return Ranking(torch.cat([part.variance.cpu() for part in parts]), torch.cat([part.expert.cpu() for part in parts]))


def merged(k: int, first: Ranking, second: Ranking) -> Ranking:
    """The ``k`` most certain of two sets of experts, those of the first before those of the second."""
    return Ranking(
        torch.cat([first.variance, second.variance], dim=1), torch.cat([first.expert, second.expert], dim=1)
    ).first(k)


def _rank_block(kind: Experts, k: int, view: View, block: range) -> Ranking:
    prior = view.context.prior_variance
    variances, numbers = [], []
    for expert in block:
        moments = view.moments(expert)
        if kind in moments:
            variances.append((moments[kind].var_latent / prior / RESOLUTION).round())
            numbers.append(view.number(expert))
    experts = torch.tensor(numbers, dtype=torch.int64, device=prior.device).expand(len(prior), -1)
    variance = torch.stack(variances, dim=1) if variances else prior.new_empty(len(prior), 0)
    return Ranking(variance, experts).first(k)
