"""A few rows of every expert that stand for it: what an expert can know about a test point, for a fraction of the cost.

Given the reference (the prior, or the communication rows) a pivoted Cholesky factorisation of the covariance of an
expert's rows picks p rows Z until they explain the others. The m rows tell as much about f(Z) as m / p observations of
each value would: R(x, Z) (R(Z, Z) + s2 p / m)^-1 R(Z, x) estimates the variance at x that the expert takes away, with
2 p m_c flops per pair instead of 3 m^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from gpcommittee.aggregation import Experts
from gpcommittee.engines import Engine
from gpcommittee.experts import BaseFactor, Committee
from gpcommittee.linalg import row_sums_of_squares, whiten_rows
from gpcommittee.prediction.nearby import pivoted_basis
from gpcommittee.prediction.reference_view import ReferenceView
from gpcommittee.records import IntArray

MOST = 192
"""Most landmarks of an expert."""

MANY = 48
"""Landmarks beyond which only ``LARGEST_LEFT`` is asked for. An expert that does not reach it with the most allowed
counts as knowing everything."""

COVER = 0.02
"""Share of a row's variance that landmarks are to leave at most, as long as there are few."""

LARGEST_LEFT = 0.3
"""Share that they may leave where it takes more: there the function is rough, and nothing is learned from afar."""

AT_ONCE = 4096
"""Landmarks whose covariances with test points are held at the same time."""


@dataclass(frozen=True)
class Landmarks:
    """Landmarks of one expert.

    Attributes
    ----------
    X : Tensor, shape (p, n_features)
    coupling : Tensor of shape (p, m_c), or None
        Cross-covariance with the communication rows, whitened; None where the prior is the reference.
    whitener : Tensor, shape (p, p)
        Inverse of the transposed Cholesky factor of R(Z, Z) + s2 p / m.
    covered : bool
        Whether they explain the expert's rows.
    """

    X: Tensor
    coupling: Tensor | None
    whitener: Tensor
    covered: bool


def find_landmarks(
    committee: Committee, communication: BaseFactor, kind: Experts, experts: Sequence[int], engine: Engine
) -> dict[int, Landmarks]:
    """Landmarks of experts.

    Parameters
    ----------
    committee : Committee
    communication : BaseFactor
    kind : Experts
        AUGMENTED: given the communication rows; BASE: given the prior.
    experts : sequence of int
    engine : Engine

    Returns
    -------
    dict of int to Landmarks
    """
    work = partial(_landmarks_of, committee, communication if kind is Experts.AUGMENTED else None)
    return dict(zip(experts, engine.map(work, experts), strict=True))


def _landmarks_of(committee: Committee, communication: BaseFactor | None, expert: int) -> Landmarks:
    with torch.no_grad():
        X, _ = committee.block(expert)
        variance = committee.prior_variance(X)
        coupling: Tensor | None = None
        if communication is not None:
            coupling = whiten_rows(communication.lower, committee.covariance(X, communication.X))
            floor = torch.finfo(variance.dtype).eps * variance
            variance = torch.maximum(variance - row_sums_of_squares(coupling), floor)

        def column(row: int) -> Tensor:
            covariance = committee.covariance(X, X[row : row + 1])[:, 0]
            return covariance if coupling is None else covariance - coupling @ coupling[row]

        basis = pivoted_basis(variance, column, MANY, COVER)
        basis = pivoted_basis(variance, column, MOST, LARGEST_LEFT, basis)
        lower = basis.coordinates[basis.pivots]
        noise = committee.noise_variance * len(lower) / len(X)
        known = torch.linalg.cholesky(lower @ lower.mT + noise * torch.eye(len(lower), dtype=X.dtype, device=X.device))
        left = (variance - basis.coordinates.square().sum(dim=1)) / variance
        return Landmarks(
            X[basis.pivots],
            None if coupling is None else coupling[basis.pivots],
            torch.linalg.solve_triangular(known.mT, torch.eye(len(lower), dtype=X.dtype, device=X.device), upper=True),
            bool(left.amax() <= LARGEST_LEFT),
        )


def estimated_gain(
    committee: Committee, landmarks: Mapping[int, Landmarks], experts: IntArray, at: ReferenceView
) -> Tensor:
    """Variance that experts take away, estimated by their landmarks.

    Parameters
    ----------
    committee : Committee
    landmarks : mapping of int to Landmarks
    experts : ndarray of int64, shape (n_experts,)
        Those asked about.
    at : ReferenceView
        Of the test points. An expert without landmarks enough is taken to know all the variance that it has.

    Returns
    -------
    Tensor, shape (n_points, n_experts)
    """
    asked = [landmarks[expert] for expert in experts.tolist()]
    gains = at.reference.var_latent[:, None].repeat(1, len(asked))
    covered = [number for number, one in enumerate(asked) if one.covered]
    for numbers in _portions(asked, covered):
        some = [asked[number] for number in numbers]
        residual = committee.covariance(at.x, torch.cat([one.X for one in some]))
        couplings = [one.coupling for one in some if one.coupling is not None]
        if at.whitened is not None and couplings:
            residual.addmm_(at.whitened, torch.cat(couplings).mT, alpha=-1.0)
        pieces = residual.split([len(one.X) for one in some], dim=1)
        for number, one, piece in zip(numbers, some, pieces, strict=True):
            gains[:, number] = row_sums_of_squares(piece @ one.whitener)
    return gains


def _portions(landmarks: Sequence[Landmarks], numbers: Sequence[int]) -> list[list[int]]:
    portions: list[list[int]] = []
    used = AT_ONCE
    for number in numbers:
        size = len(landmarks[number].X)
        if used + size > AT_ONCE:
            portions.append([])
            used = 0
        portions[-1].append(number)
        used += size
    return portions
