"""One group of nearby test points: where experts are evaluated, and what their moments are at all its points.

Experts are evaluated at the pivots alone where these determine the function at the other points as closely as the
tolerance asks (the group is *resolved*): with T = L_P^-1 U_P an expert takes away |T c(x)|^2 of the variance at x and
adds c(x)' T w to the mean. Otherwise each expert is evaluated at the points that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpcommittee.aggregation import AdditiveRule, Context, Reference
from gpcommittee.experts import (
    AugmentedFactor,
    BaseFactor,
    Committee,
    Projection,
    augmented_moments,
    base_moments,
    project,
    whiten,
    whiten_residual,
)
from gpcommittee.experts.base import floor_variance
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.landmarks import Landmarks, estimated_gain
from gpcommittee.prediction.nearby import Basis, pivoted_basis
from gpcommittee.prediction.selection import Known, expected_share, misfit, needed, resolved
from gpcommittee.records import IntArray, Moments
from gpcommittee.scratch import Scratch

VISIBLE = 0.3
"""Share of its variance that pivots may leave at any point for no expert to be overlooked at all of them."""

MOST_PIVOTS = 1 / 2
"""Pivots per test point beyond which evaluating experts point by point is no more work."""

OVERLOOKED = 0.1
"""Share of the tolerance for experts that are no candidates."""

LEFT_OUT = 0.3
"""Share of the tolerance for candidates left out."""

FEWEST_PIVOTS = 32

COARSE = 0.3
"""Share of the tolerance for moments taken from a part of the pivots."""

INTERPOLATED = 0.5
"""Share of the tolerance for moments taken from the pivots."""

CAUTION_AT_PIVOTS = 1000.0
"""Times the gain estimated at pivots that an expert is taken to have somewhere in the group."""


@dataclass(frozen=True)
class ReferenceView:
    """The reference's view of test points.

    Attributes
    ----------
    x : Tensor, shape (n_points, n_features)
    prior : Tensor, shape (n_points,)
    reference : Moments
    whitened : Tensor of shape (n_points, m_c), or None
        None where the prior is the reference.
    """

    x: Tensor
    prior: Tensor
    reference: Moments
    whitened: Tensor | None

    def at(self, rows: Tensor | slice) -> ReferenceView:
        """The same of some of the points."""
        reference = Moments(self.reference.mean[rows], self.reference.var_latent[rows])
        whitened = None if self.whitened is None else self.whitened[rows]
        return ReferenceView(self.x[rows], self.prior[rows], reference, whitened)

    @property
    def projection(self) -> Projection:
        """The communication expert's, which is the reference of augmented experts."""
        if self.whitened is None:
            raise ValueError("The prior is the reference here, or whitened covariances were left out.")
        return Projection(self.whitened, self.reference)

    def without_whitened(self) -> ReferenceView:
        """The same without its largest part."""
        return ReferenceView(self.x, self.prior, self.reference, None)

    def context(self, rule: AdditiveRule, noise_variance: float) -> Context:
        """What the rule takes from it."""
        communication = self.reference if rule.reference is Reference.COMMUNICATION else None
        return Context(self.prior, communication, noise_variance)


@dataclass(frozen=True)
class Plan:
    """Which experts may be needed in a group, and where they are to be evaluated.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_points,)
        Row numbers of the points in the request.
    points : ReferenceView
        Of all points; whitened covariances only where they are evaluated.
    evaluated : ReferenceView
        Of the points at which experts are evaluated: the pivots, or all.
    basis : Basis or None
        None where experts are evaluated at the points themselves.
    experts : ndarray of int64, shape (n_candidates,)
        Ascending.
    gains : Tensor, shape (n_evaluated, n_candidates)
        Estimated.
    """

    rows: IntArray
    points: ReferenceView
    evaluated: ReferenceView
    basis: Basis | None
    experts: IntArray
    gains: Tensor

    @property
    def best(self) -> IntArray:
        """Candidate with the largest estimated gain at each evaluated point; -1 where there is none."""
        if len(self.experts) == 0:
            return np.full(len(self.gains), -1)
        found: IntArray = self.experts[self.gains.argmax(dim=1).cpu().numpy()]
        return found

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, nearly."""
        held = [self.gains, self.evaluated.x, self.points.x]
        held += [] if self.evaluated.whitened is None else [self.evaluated.whitened]
        held += [] if self.basis is None else [self.basis.coordinates]
        return sum(tensor.numel() * tensor.element_size() for tensor in held)


def view(committee: Committee, rule: AdditiveRule, communication: BaseFactor, x: Tensor) -> ReferenceView:
    """The view of the rule's reference."""
    prior = committee.prior_variance(x)
    if rule.reference is Reference.PRIOR:
        return ReferenceView(x, prior, Moments(torch.zeros_like(prior), prior), None)
    projection = project(committee, communication, x, prior)
    return ReferenceView(x, prior, projection.moments, projection.whitened)


def make_plan(
    committee: Committee,
    rule: AdditiveRule,
    communication: BaseFactor,
    landmarks: Mapping[int, Landmarks],
    rows: IntArray,
    x: Tensor,
    tolerance: float,
    *,
    interpolate: bool,
) -> Plan:
    """Choose pivots and candidates.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    communication : BaseFactor
    landmarks : mapping of int to Landmarks
    rows : ndarray of int64, shape (n_points,)
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.
    tolerance : float
    interpolate : bool
        Whether experts may be evaluated at the pivots alone.

    Returns
    -------
    Plan
    """
    points = view(committee, rule, communication, x)
    experts = np.array(sorted(landmarks), dtype=np.int64)
    if len(experts) == 0:
        return Plan(rows, points.without_whitened(), points, None, experts, x.new_zeros((len(x), 0)))
    variance, column = points.reference.var_latent, _column(committee, points)
    basis = pivoted_basis(variance, column, max(FEWEST_PIVOTS, int(MOST_PIVOTS * len(x))), VISIBLE)
    if bool((basis.rest(variance)[:, -1] <= VISIBLE * variance).all()):
        pivots = points.at(basis.pivots)
        gains = _gains(committee, landmarks, experts, pivots)
        candidates = _candidates(rule, _expected(committee, rule, communication, gains, pivots), gains, tolerance)
        experts, gains = experts[candidates], gains[:, candidates]
        if interpolate and len(experts):
            known = _expected(committee, rule, communication, gains, pivots)
            most = int(MOST_PIVOTS * len(x) * _pairs(rule, known, gains, tolerance) / len(experts))
            basis = pivoted_basis(variance, column, most, _finest(points.prior), basis)
            enough = _resolving(rule, known, gains, basis, points, tolerance)
            if enough is not None and enough <= most:
                basis = basis.first(enough)
                evaluated = points.at(basis.pivots)
                gains = _gains(committee, landmarks, experts, evaluated)
                return Plan(rows, points.without_whitened(), evaluated, basis, experts, gains)
    return Plan(rows, points.without_whitened(), points, None, experts, _gains(committee, landmarks, experts, points))


def _pairs(rule: AdditiveRule, known: Known, gains: Tensor, tolerance: float) -> float:
    """Candidates that a point needs, on average."""
    return float(needed(rule, gains, known, LEFT_OUT * tolerance).sum(dim=1).double().mean())


def _expected(
    committee: Committee, rule: AdditiveRule, communication: BaseFactor, gains: Tensor, pivots: ReferenceView
) -> Known:
    """What is known before any expert is evaluated: the best one has at least a part of the largest estimated gain."""
    reference = pivots.reference
    best = Moments(reference.mean, reference.var_latent - OVERLOOKED * gains.amax(dim=1).minimum(reference.var_latent))
    return Known(reference, best, pivots.context(rule, committee.noise_variance), misfit(communication))


def _gains(committee: Committee, landmarks: Mapping[int, Landmarks], experts: IntArray, at: ReferenceView) -> Tensor:
    some = [landmarks[expert] for expert in experts]
    return estimated_gain(committee, some, at.x, at.whitened, at.reference.var_latent)


def _column(committee: Committee, points: ReferenceView) -> Callable[[int], Tensor]:
    """Covariance of all points with one of them, given the reference."""
    whitened = points.whitened

    def column(row: int) -> Tensor:
        covariance = committee.covariance(points.x, points.x[row : row + 1])[:, 0]
        return covariance if whitened is None else covariance - whitened @ whitened[row]

    return column


def _finest(like: Tensor) -> float:
    """Share of the variance below which what pivots leave is rounding error, magnified by the division by it."""
    return float(torch.finfo(like.dtype).eps ** (2 / 3))


def _first(true: Tensor) -> int | None:
    """Count up to the first that is true."""
    found = true.nonzero()
    return None if len(found) == 0 else int(found[0]) + 1


def _candidates(rule: AdditiveRule, known: Known, gains: Tensor, tolerance: float) -> NDArray[np.bool_]:
    """Experts that may matter somewhere in the group, by their gains at pivots."""
    matter = needed(rule, gains, known, OVERLOOKED * tolerance, CAUTION_AT_PIVOTS).any(dim=0)
    found: NDArray[np.bool_] = matter.cpu().numpy()
    return found


def _resolving(
    rule: AdditiveRule, known: Known, gains: Tensor, basis: Basis, points: ReferenceView, tolerance: float
) -> int | None:
    """Number of pivots that resolve the group, given what the aggregated variance may be by the estimated gains."""
    noise = known.context.noise_variance
    rest = basis.rest(points.reference.var_latent)
    share = float(expected_share(rule, gains, known.reference, known.context).min())
    variance = share * rule.at_level(points.reference.var_latent, points.context(rule, noise))
    return _first(resolved(rule, rest, variance[:, None], noise, known.misfit, INTERPOLATED * tolerance).all(dim=0))


def evaluated_moments(committee: Committee, factor: Factor, at: ReferenceView, scratch: Scratch) -> Moments:
    """An expert's moments at some points.

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor or BaseFactor
    at : ReferenceView
    scratch : Scratch

    Returns
    -------
    Moments
    """
    if isinstance(factor, AugmentedFactor):
        return augmented_moments(committee, factor, at.projection, at.x, at.prior, scratch)
    return base_moments(committee, factor, at.x, at.prior, scratch)


def interpolated_moments(
    committee: Committee, factor: Factor, plan: Plan, weights: Tensor, scratch: Scratch
) -> Moments:
    """An expert's moments at all points of a resolved group, from the pivots.

    Parameters
    ----------
    committee : Committee
    factor : AugmentedFactor or BaseFactor
    plan : Plan
    weights : Tensor, shape (n_points, k)
        Of the first k pivots.
    scratch : Scratch

    Returns
    -------
    Moments
    """
    at = plan.evaluated.at(slice(weights.shape[1]))
    if isinstance(factor, AugmentedFactor):
        by_pivots = whiten_residual(committee, factor, at.projection.whitened, at.x, scratch)
    else:
        by_pivots = whiten(committee, factor, at.x, scratch)
    gain = torch.linalg.vecdot(weights @ (by_pivots @ by_pivots.mT), weights)
    reference = plan.points.reference
    mean = reference.mean + weights @ (by_pivots @ factor.weights)
    return Moments(mean, floor_variance(reference.var_latent - gain, plan.points.prior))
