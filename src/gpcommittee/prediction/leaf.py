"""Few nearby test points: which experts are needed at which of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, add, empty
from gpcommittee.experts import BaseFactor, Committee
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.landmarks import Landmarks, estimated_gain
from gpcommittee.prediction.node import Node
from gpcommittee.prediction.reference_view import ReferenceView, evaluated_moments, view
from gpcommittee.prediction.selection import Known, always_needed, needed
from gpcommittee.records import IntArray, Moments
from gpcommittee.scratch import Scratch

LEFT_OUT = 0.3
"""Share of the tolerance for candidates left out at the leaves."""


@dataclass(frozen=True)
class Leaf:
    """A node without a sample.

    Attributes
    ----------
    node : Node
    points : ReferenceView
    gains : Tensor, shape (n_points, n_candidates)
        Estimated.
    """

    node: Node
    points: ReferenceView
    gains: Tensor

    @property
    def best(self) -> IntArray:
        """Candidate with the largest estimated gain at each point; -1 where there is none."""
        if len(self.node.experts) == 0:
            return np.full(len(self.gains), -1)
        found: IntArray = self.node.experts[self.gains.argmax(dim=1).cpu().numpy()]
        return found

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, nearly."""
        held = [self.gains, self.points.x]
        held += [] if self.points.whitened is None else [self.points.whitened]
        return sum(tensor.numel() * tensor.element_size() for tensor in held)


def make_leaf(
    committee: Committee,
    rule: AdditiveRule,
    communication: BaseFactor,
    landmarks: Mapping[int, Landmarks],
    node: Node,
    x: Tensor,
) -> Leaf:
    """Estimate what every candidate knows at every point.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    communication : BaseFactor
    landmarks : mapping of int to Landmarks
    node : Node
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.

    Returns
    -------
    Leaf
    """
    points = view(committee, rule, communication, x)
    return Leaf(node, points, estimated_gain(committee, landmarks, node.experts, points))


@dataclass
class Seen:
    """A leaf with what is known of its most telling experts; changed by one task at a time.

    Attributes
    ----------
    leaf : Leaf
    best : Moments
        Of the expert with the largest estimated gain at each point, the reference's until it is evaluated.
    keep : Tensor of bool, shape (n_points, n_candidates)
        Where the others are needed.
    """

    leaf: Leaf
    best: Moments
    keep: Tensor

    @classmethod
    def begin(cls, leaf: Leaf) -> Seen:
        """Nothing is evaluated yet."""
        reference = leaf.points.reference
        best = Moments(reference.mean.clone(), reference.var_latent.clone())
        return cls(leaf, best, torch.zeros(leaf.gains.shape, dtype=torch.bool))

    def choose(self, rule: AdditiveRule, noise_variance: float, misfit: float, tolerance: float) -> None:
        """Decide which candidates are needed where, once the most telling ones are evaluated."""
        leaf = self.leaf
        with torch.no_grad():
            context = leaf.points.context(rule, noise_variance)
            known = Known(leaf.points.reference, self.best, context, misfit)
            self.keep = needed(rule, leaf.gains, known, LEFT_OUT * tolerance)
            for expert in always_needed(rule):
                self.keep[:, torch.from_numpy(leaf.node.experts == expert)] = True
            self.keep &= ~torch.from_numpy(leaf.node.experts[None, :] == leaf.best[:, None])


def evaluate_best(committee: Committee, factors: Mapping[int, Factor], seen: Seen) -> None:
    """Evaluate each point's most telling expert.

    Parameters
    ----------
    committee : Committee
    factors : mapping of int to Factor
        Of some experts.
    seen : Seen
    """
    best, scratch = seen.leaf.best, Scratch()
    with torch.no_grad():
        for expert in np.unique(best):
            if int(expert) in factors:
                rows = torch.from_numpy(np.flatnonzero(best == expert))
                moments = evaluated_moments(committee, factors[int(expert)], seen.leaf.points.at(rows), scratch)
                seen.best.mean[rows], seen.best.var_latent[rows] = moments.mean, moments.var_latent


def sum_needed(
    committee: Committee, rule: AdditiveRule, factors: Mapping[int, Factor], seen: Seen, columns: IntArray
) -> Accumulator:
    """Sum of some candidates at the points that need them.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    factors : mapping of int to Factor
    seen : Seen
    columns : ndarray of int64
        Their places among the candidates.

    Returns
    -------
    Accumulator
    """
    leaf, scratch = seen.leaf, Scratch()
    best = leaf.best
    with torch.no_grad():
        context = leaf.points.context(rule, committee.noise_variance)
        total = empty(leaf.points.prior)
        for column in columns.tolist():
            expert = int(leaf.node.experts[column])
            rows = seen.keep[:, column].nonzero()[:, 0]
            own = torch.from_numpy(np.flatnonzero(best == expert))
            if len(rows) + len(own) > 0:
                moments = _moments(committee, factors[expert], seen, rows, own, scratch)
                total = add(rule, total, moments, context, expert)
    return total


def _moments(committee: Committee, factor: Factor, seen: Seen, rows: Tensor, own: Tensor, scratch: Scratch) -> Moments:
    """The expert's moments where it is needed, those known already where it is the best, the reference's elsewhere."""
    reference = seen.leaf.points.reference
    mean, variance = reference.mean.clone(), reference.var_latent.clone()
    if len(rows):
        found = evaluated_moments(committee, factor, seen.leaf.points.at(rows), scratch)
        mean[rows], variance[rows] = found.mean, found.var_latent
    mean[own], variance[own] = seen.best.mean[own], seen.best.var_latent[own]
    return Moments(mean, variance, factor.dispersion)
