"""Means of the experts that each test point of a group chose, and their covariances K_A (Eq. 7 of the paper).

With U_i = L_i^-1 (K_i* - B_i' V_c), W_i = L_i^-T U_i and G_i = B_i W_i of augmented experts: cov[m_i, m_i] =
colsum(U_i^2) and cov[m_i, m_j] = colsum(W_i * (K_ij W_j)) - colsum(G_i * G_j), since the residual covariance is
K_ij - B_i' B_j. Experts of their own rows have no B and G. Test points are rows here: U', W' and G' are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from gpcommittee.engines import Engine
from gpcommittee.experts import AugmentedFactor, Committee
from gpcommittee.linalg import row_sums_of_squares, unwhiten_rows
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.reference_view import ReferenceView, whitened_residual
from gpcommittee.scratch import Scratch


@dataclass(frozen=True)
class Seen:
    """What an expert sees at the points of a group that chose it.

    Attributes
    ----------
    points, slots : Tensor of int64, shape (n,)
        Points, ascending, and at which of its K places each of them has the expert.
    means, variances : Tensor, shape (n,)
        m_i, which is less the communication expert's mean where augmented; cov[m_i, m_i] = cov[m_i, y*].
    weights : Tensor, shape (n, m)
        W_i'.
    coupled : Tensor of shape (n, m_c), or None
        G_i' of augmented experts.
    """

    points: Tensor
    slots: Tensor
    means: Tensor
    variances: Tensor
    weights: Tensor
    coupled: Tensor | None


def see(committee: Committee, factors: Mapping[int, Factor], at: ReferenceView, chosen: Tensor, expert: int) -> Seen:
    """What one expert sees where it was chosen; ``chosen`` has shape (n_points, k)."""
    with torch.no_grad():
        factor = factors[int(expert)]
        points, slots = (chosen == int(expert)).nonzero(as_tuple=True)
        whitened = whitened_residual(committee, factor, at.at(points), Scratch())
        means, variances = whitened @ factor.weights, row_sums_of_squares(whitened)
        weights = unwhiten_rows(factor.lower, whitened)
        coupled = weights @ factor.coupling if isinstance(factor, AugmentedFactor) else None
        return Seen(points, slots, means, variances, weights, coupled)


def joint_moments(
    committee: Committee, seen: Mapping[int, Seen], chosen: Tensor, engine: Engine
) -> tuple[Tensor, Tensor]:
    """Means (n_points, k) of the chosen experts and their covariances K_A (n_points, k, k)."""
    like = next(iter(seen.values())).means
    means = like.new_empty(chosen.shape)
    covariance = like.new_zeros(*chosen.shape, chosen.shape[1])
    for one in seen.values():
        means[one.points, one.slots] = one.means
        covariance[one.points, one.slots, one.slots] = one.variances
    pairs = _pairs(list(seen), chosen)
    for (i, j), (in_i, in_j, shared) in zip(pairs, engine.map(partial(_shared, committee, seen), pairs), strict=True):
        points, first, second = seen[i].points[in_i], seen[i].slots[in_i], seen[j].slots[in_j]
        covariance[points, first, second] = shared
        covariance[points, second, first] = shared
    return means, covariance


def _pairs(experts: Sequence[int], chosen: Tensor) -> list[tuple[int, int]]:
    """Pairs of experts that some point chose together, the lower number first."""
    places = torch.searchsorted(torch.tensor(experts, device=chosen.device), chosen)
    member = torch.zeros(len(chosen), len(experts), device=chosen.device).scatter_(1, places, 1.0)
    together = torch.triu(member.mT @ member, diagonal=1).nonzero().tolist()
    return [(experts[i], experts[j]) for i, j in together]


def _shared(committee: Committee, seen: Mapping[int, Seen], pair: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Covariance of two experts' means at the points that chose both, and the places of these points in either."""
    with torch.no_grad():
        (i, first), (j, second) = ((expert, seen[expert]) for expert in pair)
        places = torch.searchsorted(second.points, first.points).clamp_max(len(second.points) - 1)
        in_first = (second.points[places] == first.points).nonzero()[:, 0]
        in_second = places[in_first]
        product = second.weights[in_second] @ committee.covariance(committee.block(j)[0], committee.block(i)[0])
        shared = torch.linalg.vecdot(product, first.weights[in_first])
        if first.coupled is not None and second.coupled is not None:
            shared -= torch.linalg.vecdot(first.coupled[in_first], second.coupled[in_second])
        return in_first, in_second, shared
