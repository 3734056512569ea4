"""A node of the tree of test points: experts seen at a sample of its points, and from there at all of them.

The sample is *pivots*, which a pivoted Cholesky factorisation of the points' covariance given the reference picks, and
*checks*, the points it would pick next: those that the pivots explain worst. An expert's whitened residual covariance U
is computed at the sample only. From the pivots it follows elsewhere by f(x) = c(x)' xi + rest: gain |T' c(x)|^2 and
mean c(x)' T w, T = L_P^-1 U_P; at the checks this is compared with what the expert says there itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpcommittee.aggregation import Accumulator, AdditiveRule, add, empty
from gpcommittee.aggregation.accumulator import at_points
from gpcommittee.experts import BaseFactor, Committee
from gpcommittee.experts.base import floor_variance
from gpcommittee.linalg import row_sums_of_squares
from gpcommittee.prediction.factoring import Factor
from gpcommittee.prediction.nearby import pivoted_basis
from gpcommittee.prediction.reference_view import ReferenceView, view, whitened_residual
from gpcommittee.records import IntArray, Moments
from gpcommittee.scratch import Scratch

VISIBLE = 0.3
"""Share of its variance that pivots may leave at any point for no expert to be overlooked at all of them."""

SMALLEST = 256
"""Points below which sampling them costs as much as it saves."""

POINTS_PER_PIVOT = 8
"""Test points that a pivot must stand for, to be worth it; half as many beyond ``PIVOTS``."""

PIVOTS = 128
"""Pivots that are taken even where fewer make all points visible."""

CHECKS = 16

POWER_STEPS = 4
"""Steps that find the largest share to a few per cent."""


@dataclass(frozen=True)
class Node:
    """Nearby test points and the experts that are still to be summed there.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_points,)
        Row numbers of the points in the request.
    experts : ndarray of int64, shape (n_candidates,)
        Ascending.
    total : Accumulator
        Sum of the experts that are settled.
    """

    rows: IntArray
    experts: IntArray
    total: Accumulator


@dataclass(frozen=True)
class Sample:
    """A node's sample, and what is known of its candidates there.

    Attributes
    ----------
    node : Node
    points : ReferenceView
        Of all points, without whitened covariances.
    sample : ReferenceView
        Of the pivots, then the checks.
    numbers : Tensor of int64
        Their numbers in the node.
    weights : Tensor, shape (n_points, n_pivots)
        Weights of the values at the pivots in the value at each point.
    left : float
        Largest share of its variance that the pivots leave at a point.
    rest : Tensor, shape (n_checks,)
        Variance that they leave at the checks.
    factor : Tensor, shape (n_pivots, n_pivots)
        Cholesky factor L_P of their covariance given the reference.
    largest : Tensor, shape (n_candidates,)
        Largest share of its variance that an expert takes away from any sum of the values at the pivots.
    shift : Tensor, shape (n_candidates,)
        Largest shift of the mean of what a pivot adds to those before it, in its standard deviations.
    dispersion : Tensor, shape (n_candidates,)
    exact : Moments, shapes (n_sample, n_candidates)
        Filled in expert by expert.
    between : Moments, shapes (n_checks, n_candidates)
        At the checks, from the pivots.
    """

    node: Node
    points: ReferenceView
    sample: ReferenceView
    numbers: Tensor
    weights: Tensor
    left: float
    rest: Tensor
    factor: Tensor
    largest: Tensor
    shift: Tensor
    dispersion: Tensor
    exact: Moments
    between: Moments

    @property
    def n_pivots(self) -> int:
        """Number of pivots."""
        return self.weights.shape[1]

    @property
    def rough(self) -> bool:
        """Whether the pivots that make all points visible are so many that nothing can be taken from them."""
        return self.n_pivots > PIVOTS

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, nearly."""
        held = [self.weights, self.sample.x, self.points.x, self.exact.mean, self.exact.var_latent]
        held += [] if self.sample.whitened is None else [self.sample.whitened]
        return sum(tensor.numel() * tensor.element_size() for tensor in held)

    def of(self, node: Node) -> Sample:
        """The same for other candidates, none of them seen."""
        like, n_experts = self.weights, len(node.experts)
        exact, between = (len(self.numbers), n_experts), (len(self.numbers) - self.n_pivots, n_experts)
        return replace(
            self,
            node=node,
            largest=like.new_empty(n_experts),
            shift=like.new_empty(n_experts),
            dispersion=like.new_empty(n_experts),
            exact=Moments(like.new_empty(exact), like.new_empty(exact)),
            between=Moments(like.new_empty(between), like.new_empty(between)),
        )


def take_sample(
    committee: Committee, rule: AdditiveRule, communication: BaseFactor, node: Node, x: Tensor
) -> Sample | None:
    """Choose a node's sample, its candidates not seen yet; None where too many points would have to be in it.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    communication : BaseFactor
    node : Node
    x : Tensor, shape (n_points, n_features)
        Standardised test inputs.

    Returns
    -------
    Sample or None
    """
    most = len(x) // POINTS_PER_PIVOT
    if len(x) < SMALLEST or len(node.experts) == 0:
        return None
    points = view(committee, rule, communication, x)
    variance, column = points.reference.var_latent, points.column(committee)
    basis = pivoted_basis(variance, column, most, VISIBLE)
    if len(basis.pivots) == most and float((basis.rest(variance)[:, -1] / variance).max()) > VISIBLE:
        return None
    enough = max(len(basis.pivots), min(PIVOTS, 2 * most))
    basis = pivoted_basis(variance, column, enough + CHECKS, _finest(variance), basis)
    n_checks = min(CHECKS, max(0, len(basis.pivots) - enough))
    pivots = basis.first(len(basis.pivots) - n_checks)
    rest = pivots.rest(variance)[:, -1]
    nothing = Moments(variance.new_empty((0, 0)), variance.new_empty((0, 0)))
    return Sample(
        node,
        points.without_whitened(),
        points.at(basis.pivots),
        basis.pivots,
        pivots.weights(len(pivots.pivots)),
        float((rest / variance).max()),
        rest[basis.pivots[len(pivots.pivots) :]],
        pivots.coordinates[pivots.pivots],
        variance.new_empty(0),
        variance.new_empty(0),
        variance.new_empty(0),
        nothing,
        nothing,
    )


def see(committee: Committee, factors: Mapping[int, Factor], sample: Sample, columns: IntArray) -> None:
    """Fill in the moments of some candidates at the sample.

    Parameters
    ----------
    committee : Committee
    factors : mapping of int to Factor
    sample : Sample
    columns : ndarray of int64
        Their places among the candidates.
    """
    scratch, reference = Scratch(), sample.sample.reference
    n_pivots = sample.n_pivots
    checks = sample.weights[sample.numbers[n_pivots:]]
    with torch.no_grad():
        for column in columns.tolist():
            factor = factors[int(sample.node.experts[column])]
            whitened = whitened_residual(committee, factor, sample.sample, scratch)
            shift = whitened @ factor.weights
            gain = row_sums_of_squares(whitened)
            sample.exact.mean[:, column] = reference.mean + shift
            sample.exact.var_latent[:, column] = floor_variance(reference.var_latent - gain, sample.sample.prior)
            sample.dispersion[column] = factor.dispersion
            shares: Tensor = torch.linalg.solve_triangular(sample.factor, whitened[:n_pivots], upper=False)
            sample.largest[column] = _largest_share(shares)
            sample.shift[column] = (shares @ factor.weights).abs().max()
            gain = row_sums_of_squares(checks @ whitened[:n_pivots])
            variance = reference.var_latent[n_pivots:] - gain
            sample.between.mean[:, column] = reference.mean[n_pivots:] + checks @ shift[:n_pivots]
            sample.between.var_latent[:, column] = floor_variance(variance, sample.sample.prior[n_pivots:])


def add_from_pivots(
    committee: Committee, rule: AdditiveRule, factors: Mapping[int, Factor], sample: Sample, experts: IntArray
) -> Accumulator:
    """Sum of some experts at all points of a node, from its pivots.

    Parameters
    ----------
    committee : Committee
    rule : AdditiveRule
    factors : mapping of int to Factor
    sample : Sample
    experts : ndarray of int64

    Returns
    -------
    Accumulator
    """
    scratch, reference, weights = Scratch(), sample.points.reference, sample.weights
    with torch.no_grad():
        context = sample.points.context(rule, committee.noise_variance)
        total = empty(sample.points.prior)
        pivots = sample.sample.at(slice(sample.n_pivots))
        for expert in experts.tolist():
            factor = factors[expert]
            whitened = whitened_residual(committee, factor, pivots, scratch)
            gain = torch.linalg.vecdot(weights @ (whitened @ whitened.mT), weights)
            mean = reference.mean + weights @ (whitened @ factor.weights)
            variance = floor_variance(reference.var_latent - gain, sample.points.prior)
            total = add(rule, total, Moments(mean, variance, factor.dispersion), context, expert)
    return total


def _largest_share(shares: Tensor) -> Tensor:
    """Largest eigenvalue of T T', T = L_P^-1 U_P, by a few steps of the power method from its largest row."""
    sums = row_sums_of_squares(shares)
    direction = shares[sums.argmax()]
    for _ in range(POWER_STEPS):
        direction = (shares @ direction) @ shares
        direction /= direction.norm().clamp_min(torch.finfo(direction.dtype).tiny)
    found: Tensor = torch.maximum(row_sums_of_squares((shares @ direction)[None])[0], sums.max()).clamp_max(1.0)
    return found


def _finest(like: Tensor) -> float:
    """Share of the variance below which what pivots leave is rounding error, magnified by the division by it."""
    return float(torch.finfo(like.dtype).eps ** (2 / 3))


def children(node: Node, groups: list[IntArray]) -> list[Node]:
    """Nodes of parts of the points, groups of their numbers in this node."""
    return [Node(node.rows[group], node.experts, at_points(node.total, torch.from_numpy(group))) for group in groups]


def root(rows: IntArray, experts: IntArray, like: Tensor) -> Node:
    """A node at which no expert is settled."""
    return Node(rows, experts, empty(like.new_zeros(len(rows))))
