"""Predictive covariance of NPAE between the points of one block (Rulliere et al., 2018, section 3).

The aggregated mean is linear in the data: mean(x) = omega(x)' y, omega stacking alpha_i(x) W_i(x) over the experts,
with alpha = K_A^-1 k_A and W_i = A_i^-1 K_i*. The error f(x) - mean(x) then has covariance
k(x, x') - omega(x)' K_*(x') - K_*(x)' omega(x') + omega(x)' (K + s2 I) omega(x'), s2 of each expert's own rows its own.
N^2 flops per point and 2 N + t numbers per point of a block of t.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from gpcommittee.aggregation import NPAE, Experts, combine
from gpcommittee.data import restore_mean
from gpcommittee.engines import Engine, one_blas_thread
from gpcommittee.errors import MemoryBudgetError
from gpcommittee.experts import Committee
from gpcommittee.prediction.factors import FactorStore
from gpcommittee.prediction.npae import View, covariance_of_means, in_one_precision, npae_bytes, scales_of, view_of
from gpcommittee.prediction.request import Request
from gpcommittee.records import FloatArray


def npae_covariance(
    rule: NPAE, request: Request, store: FactorStore, engine: Engine, *, include_noise: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of NPAE at all points of a request together, in the target's units.

    Parameters
    ----------
    rule : NPAE
    request : Request
        One block of test points.
    store : FactorStore
    engine : Engine
    include_noise : bool
        Add the noise variance to the diagonal.

    Returns
    -------
    mean : ndarray, shape (n_points,)
    covariance : ndarray, shape (n_points, n_points)
        Calibrated, where the store's factors are, by the root of the dispersion at each of two points.

    Raises
    ------
    MemoryBudgetError
        If the block does not fit the memory budget.
    NotPositiveDefiniteError
        If an expert's covariance or the covariance of the experts' means cannot be factored.
    """
    store, request = in_one_precision(store, request, engine)
    committee = store.committee
    _check_budget(store, len(request.X))
    loaded = store.load(frozenset({Experts.BASE}), range(committee.n_experts), engine).base
    factors = [loaded[expert] for expert in range(committee.n_experts)]
    with torch.no_grad(), one_blas_thread():
        x = request.points(slice(None))
        prior = committee.prior_variance(x)
        view = view_of(committee, factors, x)
        own = [(factor.dispersion, factor.relative_noise) for factor in factors]
        dispersion, relative_noise = scales_of(view, own, prior, committee.noise_variance)
        root = dispersion.sqrt()
        weights = _row_weights(rule, committee, view, prior)
        rows = partial(_shared, committee, weights, x)
        half = sum(engine.map(rows, range(len(factors))), start=0.5 * committee.covariance(x, x))
        covariance = half + half.mT
        if include_noise:
            covariance.diagonal().add_(relative_noise * committee.noise_variance)
        covariance *= root[:, None] * root
        mean = sum((w @ committee.block(i)[1] for i, w in enumerate(weights)), start=x.new_zeros(len(x)))
    scaling = request.scaling
    return (
        restore_mean(mean.double().cpu().numpy(), scaling),
        covariance.double().cpu().numpy() * scaling.y_scale**2,
    )


def _row_weights(rule: NPAE, committee: Committee, view: View, prior: Tensor) -> list[Tensor]:
    """omega', expert by expert, each of shape (n_points, m_i)."""
    _, alpha = combine(rule, view.means, covariance_of_means(committee, view), prior)
    return [w * alpha[:, i : i + 1].to(w.dtype) for i, w in enumerate(view.weights)]


def _shared(committee: Committee, weights: Sequence[Tensor], x: Tensor, i: int) -> Tensor:
    """One expert's part of half the covariance beside the prior: omega' (K + s2 I) omega / 2 - omega' K_*."""
    with torch.no_grad():
        reached = 0.5 * committee.noise_of(i) * weights[i]
        X, _ = committee.block(i)
        for j, weight in enumerate(weights):
            reached.addmm_(weight, committee.covariance(committee.block(j)[0], X), alpha=0.5)
        return weights[i] @ (reached - committee.covariance(x, X)).mT


def _check_budget(store: FactorStore, n_points: int) -> None:
    offsets, itemsize = store.committee.offsets, store.committee.kernel.dtype.itemsize
    factors, chunk = npae_bytes(offsets, itemsize, n_points)
    needed = factors + chunk + itemsize * n_points * (int(offsets[-1]) + 4.0 * n_points)
    if needed > store.budget:
        raise MemoryBudgetError(
            f"The covariance between {n_points} points needs {needed / 2**30:.3g} GiB; the budget is "
            f"{store.budget / 2**30:.3g} GiB. Pass fewer points at a time or raise memory_budget."
        )
