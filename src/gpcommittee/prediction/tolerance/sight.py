"""What nearby test points saw of a committee, and the experts that they have to evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, add, empty, merge
from gpcommittee.aggregation.accumulator import among_points
from gpcommittee.experts import Committee
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.reference_view import ReferenceView, evaluated_moments
from gpcommittee.records import IntArray
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class Sight:
    """Nearby test points with what they see.

    Attributes
    ----------
    points : ReferenceView
    total : Accumulator
        Sum of the compressed experts.
    experts : ndarray of int64, shape (n_experts,)
        Those to be evaluated somewhere, ascending.
    where : Tensor of bool, shape (n_points, n_experts)
    """

    points: ReferenceView
    total: Accumulator
    experts: IntArray
    where: Tensor

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, nearly."""
        held = [self.points.x, self.where]
        held += [] if self.points.whitened is None else [self.points.whitened]
        return sum(tensor.numel() * tensor.element_size() for tensor in held)


def sum_evaluated(
    committee: Committee, rule: AdditiveRule, factors: Mapping[int, Factor], sight: Sight, places: IntArray
) -> Accumulator:
    """Sum of some experts where they have to be evaluated.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    factors : mapping of int to Factor
    sight : Sight
    places : ndarray of int64
        Of the experts among the sight's.

    Returns
    -------
    Accumulator
    """
    scratch, n_points = Scratch(), len(sight.points.x)
    with torch.no_grad():
        context = sight.points.context(rule, committee.noise_variance)
        total = empty(sight.points.prior)
        for place in places.tolist():
            expert, rows = int(sight.experts[place]), sight.where[:, place].nonzero()[:, 0]
            moments = evaluated_moments(committee, factors[expert], sight.points.at(rows), scratch)
            here = context.at(rows)
            own = add(rule, empty(here.prior_variance), moments, here, expert)
            total = merge(total, among_points(own, rows, n_points))
    return total
