"""Value and gradient of the factorised likelihood: share of DGEMM on one thread, and two workers against one."""

from __future__ import annotations

import time

import numpy as np
from torch import Tensor

from benchmarks.paper.measure import Row
from benchmarks.speed.dgemm import shares_of_dgemm
from benchmarks.speed.experts import drawn_committee
from benchmarks.speed.options import Options
from gpcommittee.engines import Engine, SerialEngine, ThreadEngine
from gpcommittee.experts import Committee
from gpcommittee.likelihood import value_and_gradient
from gpcommittee.records import FloatArray
from gpcommittee.scratch import Scratch
from gpcommittee.training import FactorisedObjective

N_EXPERTS, N_FEATURES = 16, 8
KERNELS = ("squared_exponential", "matern32")


def likelihood(options: Options) -> list[Row]:
    """One row per kernel and question."""
    return [row for kernel in KERNELS for row in (_share(kernel, options), _two_workers(kernel, options))]


def _share(kernel: str, options: Options) -> Row:
    """16 experts one after another, counting m^3 each: Cholesky factor m^3/3, inverse 2/3 m^3."""
    committee, theta = _start(kernel, options)
    blocks, scratch = _blocks(committee), Scratch()

    def work() -> None:
        for block in blocks:
            value_and_gradient(committee.kernel, theta, *block, scratch)

    shares = shares_of_dgemm(work, N_EXPERTS * float(options.size) ** 3, options.repeats)
    return {"what": "value and gradient", "kernel": kernel, "counted": "m^3", **shares.summary()}


def _two_workers(kernel: str, options: Options) -> Row:
    """Wall-clock time of the objective on one worker over that on two, in pairs whose order alternates.

    ``cpu_ratio`` is what the second worker costs: processor time of two over that of one. Two over it is the ratio
    that cores of their own would give.
    """
    committee, theta = _start(kernel, options)
    objectives = [FactorisedObjective(committee.kernel, _blocks(committee), engine) for engine in _engines()]
    for objective in objectives:
        objective(theta)
    pairs = []
    for repeat in range(options.repeats):
        order = (0, 1) if repeat % 2 == 0 else (1, 0)
        seconds = {i: _seconds(objectives[i], theta) for i in order}
        pairs.append([seconds[0], seconds[1]])
    wall, cpu = np.moveaxis(np.array(pairs), -1, 0)
    ratios = wall[:, 0] / wall[:, 1]
    return {
        "what": "two workers against one",
        "kernel": kernel,
        "ratio": float(np.median(ratios)),
        "least": float(ratios.min()),
        "most": float(ratios.max()),
        "cpu_ratio": float(np.median(cpu[:, 1] / cpu[:, 0])),
        "wall_seconds_one": float(np.median(wall[:, 0])),
        "wall_seconds_two": float(np.median(wall[:, 1])),
        "repeats": options.repeats,
    }


def _start(kernel: str, options: Options) -> tuple[Committee, FloatArray]:
    committee = drawn_committee(kernel, N_EXPERTS, options.size, N_FEATURES)
    point = committee.hyperparameters
    return committee, np.append(point.kernel, point.log_noise_variance)


def _blocks(committee: Committee) -> list[tuple[Tensor, Tensor]]:
    return [committee.block(expert) for expert in range(committee.n_experts)]


def _engines() -> tuple[Engine, Engine]:
    return SerialEngine(), ThreadEngine(2)


def _seconds(objective: FactorisedObjective, theta: FloatArray) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    objective(theta)
    return time.perf_counter() - wall, time.process_time() - cpu
