"""NPAE by matrix products (Eqs. 7 and 8 of the paper): chunks of test points, symmetric pairs of experts once.

With V_i = L_i^-1 K_i* and W_i = L_i^-T V_i = A_i^-1 K_i*: cov[mu_i, y*] = cov[mu_i, mu_i] = colsum(V_i^2) and, for
i < j, cov[mu_i, mu_j] = colsum(W_i * (K_ij W_j)), one product K_ij W_j for a whole chunk. N^2 flops per test point; a
chunk of t points takes (N + a few M^2) t numbers. Test points are rows here: V' and W' are what is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from gpcommittee.aggregation import NPAE, RBCM, Aggregate, Context, Experts, add, combine, empty, finish
from gpcommittee.engines import Engine
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.experts import BaseFactor, Committee, whiten
from gpcommittee.experts.base import floor_variance
from gpcommittee.linalg import row_sums_of_squares, unwhiten_rows
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.request import Request, StandardMoments, empty_moments, write_moments
from gpcommittee.progress import Reporter
from gpcommittee.records import Moments

LARGEST_CHUNK = 1024
"""Test points per task where memory allows: products with that many columns run near the machine's best rate."""

SMALLEST_CHUNK = 16
"""Test points per task below which products are so slow that a refusal serves better."""

CHUNK_SHARE = 1 / 8
"""Share of the memory budget that one chunk may take, so that several workers fit beside the factors."""

MATRICES_OF_EXPERTS = 5
"""Matrices of experts x experts alive per test point while a chunk is combined."""


def npae_moments(
    rules: Sequence[NPAE], request: Request, store: FactorStore, engine: Engine, reporter: Reporter
) -> list[StandardMoments]:
    """Mean, latent variance, dispersion and relative noise of NPAE, in standardised units, one result per rule.

    Raises
    ------
    MemoryBudgetError
        If the factors and the smallest chunk on every worker exceed the budget.
    NotPositiveDefiniteError
        If an expert's covariance or the covariance of the experts' means cannot be factored.
    """
    store, request = in_one_precision(store, request, engine)
    committee = store.committee
    size = chunk_size(committee.offsets, committee.kernel.dtype.itemsize, store.budget, engine.n_workers)
    factors = store.load(frozenset({Experts.BASE}), range(committee.n_experts), engine).base
    ordered = [factors[expert] for expert in range(committee.n_experts)]
    chunks = request.chunks(size)
    outputs = [empty_moments(len(request.X)) for _ in rules]
    work = partial(_chunk_moments, committee, ordered, rules, request)
    with reporter.stage("predict (NPAE)", len(chunks), unit="steps") as stage:
        for chunk, results in zip(chunks, engine.map(work, chunks), strict=True):
            for aggregate, output in zip(results, outputs, strict=True):
                write_moments(output, chunk, aggregate)
            stage.advance()
    return outputs


def in_one_precision(store: FactorStore, request: Request, engine: Engine) -> tuple[FactorStore, Request]:
    """Both in float64 where float32 cannot factor an expert: rounding errors of its mean would pass for information."""
    committee = store.committee
    if committee.kernel.dtype == torch.float64:
        return store, request
    factors = store.load(frozenset({Experts.BASE}), range(committee.n_experts), engine).base
    if all(factor.lower.dtype == committee.kernel.dtype for factor in factors.values()):
        return store, request
    double = store.doubled()
    return double, replace(request, committee=double.committee)


def npae_bytes(offsets: np.ndarray, itemsize: int, n_points: int) -> tuple[float, float]:
    """Bytes of all base factors, and of a chunk of ``n_points`` test points on one worker."""
    sizes = np.diff(offsets).astype(float)
    factors = float((sizes**2).sum()) * itemsize
    per_point = sizes.sum() + 3 * sizes.max() + MATRICES_OF_EXPERTS * len(sizes) ** 2
    pair = 2 * sizes.max() ** 2
    return factors, float(per_point * n_points + pair) * itemsize


def chunk_size(offsets: np.ndarray, itemsize: int, budget: float, n_workers: int) -> int:
    """Test points per chunk, a power of two: the most that take their share of the budget.

    Raises
    ------
    MemoryBudgetError
        If even the smallest chunk does not fit beside the factors on every worker.
    """
    size = LARGEST_CHUNK
    while size > SMALLEST_CHUNK and npae_bytes(offsets, itemsize, size)[1] > CHUNK_SHARE * budget:
        size //= 2
    factors, chunk = npae_bytes(offsets, itemsize, size)
    if factors + n_workers * chunk > budget:
        raise MemoryBudgetError(
            f"NPAE needs {(factors + n_workers * chunk) / 2**30:.3g} GiB for the factors of {len(offsets) - 1} experts "
            f"and {n_workers} chunks of {size} test points; the budget is {budget / 2**30:.3g} GiB. Raise "
            "memory_budget, use fewer rows or another aggregation: GRBCM streams over experts."
        )
    return size


def _chunk_moments(
    committee: Committee, factors: Sequence[BaseFactor], rules: Sequence[NPAE], request: Request, chunk: slice
) -> list[Aggregate]:
    with torch.no_grad():
        x = request.points(chunk)
        view = view_of(committee, factors, x)
        covariance = covariance_of_means(committee, view)
        prior = committee.prior_variance(x)
        own = [(factor.dispersion, factor.relative_noise) for factor in factors]
        scales = scales_of(view, own, prior, committee.noise_variance)
        found = [combine(rule, view.means, covariance, prior)[0] for rule in rules]
        return [Aggregate(moments.mean, moments.var_latent, *scales) for moments in found]


@dataclass(frozen=True)
class View:
    """What all experts see at a chunk of test points.

    Attributes
    ----------
    weights : sequence of Tensor, each of shape (n_points, m_i)
        W_i' = (A_i^-1 K_i*)'.
    means : Tensor, shape (n_points, n_experts)
    variances : Tensor, shape (n_points, n_experts)
        cov[mu_i, mu_i] = cov[mu_i, y*].
    """

    weights: Sequence[Tensor]
    means: Tensor
    variances: Tensor


def view_of(committee: Committee, factors: Sequence[BaseFactor], x: Tensor) -> View:
    """W_i, means and their variances for all base experts at test points ``x``."""
    weights, means, variances = [], [], []
    for factor in factors:
        whitened = whiten(committee, factor, x)
        means.append(whitened @ factor.weights)
        variances.append(row_sums_of_squares(whitened))
        weights.append(unwhiten_rows(factor.lower, whitened))
    return View(weights, torch.stack(means, dim=1), torch.stack(variances, dim=1))


def scales_of(
    view: View, of_experts: Sequence[tuple[float, float]], prior: Tensor, noise_variance: float
) -> tuple[Tensor, Tensor]:
    """Dispersion and relative noise of RBCM, of which K_A says nothing, each of shape (n_points,).

    Given those of every expert.
    """
    rule, context = RBCM(), Context(prior, None, noise_variance)
    total = empty(prior)
    for expert, scales in enumerate(of_experts):
        variance = floor_variance(prior - view.variances[:, expert], prior)
        total = add(rule, total, Moments(view.means[:, expert], variance, *scales), context, expert)
    outcome = finish(rule, total, context)
    return outcome.dispersion, outcome.relative_noise


def covariance_of_means(committee: Committee, view: View) -> Tensor:
    """K_A at every test point (Eq. 7), shape (n_points, n_experts, n_experts)."""
    result = torch.diag_embed(view.variances)
    for i, j in combinations(range(len(view.weights)), 2):
        first, second = ((committee.block(expert)[0], view.weights[expert]) for expert in (i, j))
        shared = covariance_of_pair(committee, first, second)
        result[:, i, j] = shared
        result[:, j, i] = shared
    return result


def covariance_of_pair(committee: Committee, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """Covariance of two experts' means at every test point (Eq. 7).

    Parameters
    ----------
    committee : Committee
        For its kernel.
    first, second : (X, weights)
        Inputs (m, n_features) of an expert and its W' (n_points, m).

    Returns
    -------
    Tensor, shape (n_points,)
    """
    product = second[1] @ committee.covariance(second[0], first[0])
    covariance: Tensor = torch.linalg.vecdot(product, first[1])
    return covariance
