"""What a rule's reference says about test points: the prior, or the communication expert."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, zeros_like

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
from gpcommittee.prediction.factoring import Factor
from gpcommittee.records import Moments
from gpcommittee.scratch import Scratch


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
        whitened = None if self.whitened is None else self.whitened[rows]
        return ReferenceView(self.x[rows], self.prior[rows], self.reference.at(rows), whitened)

    @property
    def projection(self) -> Projection:
        """The communication expert's, which is the reference of augmented experts."""
        if self.whitened is None:
            raise ValueError("The prior is the reference here.")
        return Projection(self.whitened, self.reference)

    def context(self, rule: AdditiveRule, noise_variance: float) -> Context:
        """What the rule takes from it."""
        communication = self.reference if rule.reference is Reference.COMMUNICATION else None
        return Context(self.prior, communication, noise_variance)


def view(committee: Committee, reference: Reference, communication: BaseFactor, x: Tensor) -> ReferenceView:
    """The view of a reference."""
    prior = committee.prior_variance(x)
    if reference is Reference.PRIOR:
        return ReferenceView(x, prior, Moments(zeros_like(prior), prior), None)
    projection = project(committee, communication, x, prior)
    return ReferenceView(x, prior, projection.moments, projection.whitened)


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


def whitened_residual(committee: Committee, factor: Factor, at: ReferenceView, scratch: Scratch) -> Tensor:
    """U' of an expert at some points given the reference, shape (n_points, m)."""
    if isinstance(factor, AugmentedFactor):
        return whiten_residual(committee, factor, at.projection.whitened, at.x, scratch)
    return whiten(committee, factor, at.x, scratch)
