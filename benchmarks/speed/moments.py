"""Augmented experts at test points: share of DGEMM of their moments and of their factors, on one thread."""

from __future__ import annotations

import torch

from benchmarks.paper.measure import Row
from benchmarks.speed.dgemm import shares_of_dgemm
from benchmarks.speed.experts import drawn_committee
from benchmarks.speed.options import Options
from gpcommittee import CommitteeRegressor
from gpcommittee.experts import Committee, augmented_moments, factor_augmented, factor_base, project
from gpcommittee.prediction.stream import CHUNK

N_EXPERTS, N_FEATURES = 16, 8
KERNELS = ("squared_exponential", "matern32")


def moments(options: Options) -> list[Row]:
    """One row per kernel and step."""
    return [row for kernel in KERNELS for row in _of_kernel(kernel, options)]


def _of_kernel(kernel: str, options: Options) -> list[Row]:
    committee = drawn_committee(kernel, 1 + N_EXPERTS, options.size, N_FEATURES)
    with torch.no_grad():
        return [
            _factors(committee, kernel, options),
            _moments(committee, kernel, options, with_projection=False),
            _moments(committee, kernel, options, with_projection=True),
            _predictions(committee, kernel, options),
        ]


def _factors(committee: Committee, kernel: str, options: Options) -> Row:
    """16 residual factors, counting 7/3 m^3 each: m^3 for the coupling, m^3 for its square, m^3/3 for the factor."""
    communication = factor_base(committee, 0)

    def work() -> None:
        for expert in range(1, committee.n_experts):
            factor_augmented(committee, communication, expert)

    shares = shares_of_dgemm(work, N_EXPERTS * 7 / 3 * float(options.size) ** 3, options.repeats)
    return {"what": "augmented factors", "kernel": kernel, "counted": "7/3 m^3", **shares.summary()}


def _moments(committee: Committee, kernel: str, options: Options, *, with_projection: bool) -> Row:
    """16 experts at one chunk of test points, counting 3 m^2 each per point; the projection is never counted."""
    communication = factor_base(committee, 0)
    factors = [factor_augmented(committee, communication, expert) for expert in range(1, committee.n_experts)]
    x = torch.randn(CHUNK, N_FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    prior = committee.prior_variance(x)
    given = project(committee, communication, x, prior)

    def work() -> None:
        projection = project(committee, communication, x, prior) if with_projection else given
        for factor in factors:
            augmented_moments(committee, factor, projection, x, prior)

    shares = shares_of_dgemm(work, _flops(options), options.repeats)
    what = "augmented moments" + (" and projection" if with_projection else "")
    return {"what": what, "kernel": kernel, "counted": "3 m^2", **shares.summary()}


def _predictions(committee: Committee, kernel: str, options: Options) -> Row:
    """The estimator's ``predict`` at one chunk, factors kept: moments, rule and all conversions."""
    model = CommitteeRegressor(
        kernel,
        aggregation="grbcm",
        n_experts=committee.n_experts,
        partition="random",
        optimizer=None,
        n_jobs=1,
        random_state=0,
    )
    model.fit(committee.X.numpy(), committee.y.numpy())
    x = torch.randn(CHUNK, N_FEATURES, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).numpy()
    shares = shares_of_dgemm(lambda: model.predict(x, return_std=True), _flops(options), options.repeats)
    return {"what": "predict, mean and deviation", "kernel": kernel, "counted": "3 m^2", **shares.summary()}


def _flops(options: Options) -> float:
    return N_EXPERTS * 3.0 * CHUNK * float(options.size) ** 2
