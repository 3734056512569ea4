"""The estimator away from the CPU: on a pretend device, and on CUDA where there is one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel, PeriodicKernel, RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior

from gpcommittee import CommitteeRegressor
from gpcommittee.engines import SerialEngine
from gpcommittee.records import FloatArray
from pretend_device import pretend_device

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(-2, 2, (90, 2))
Y = np.sin(2 * X).sum(axis=1) + 0.1 * GENERATOR.standard_normal(90)
X_TEST = GENERATOR.uniform(-3, 3, (20, 2))
KERNELS = ["matern32", "rational_quadratic", "graph"]


@pytest.fixture(params=["pretend", "pretend, one by one", "cuda"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        yield torch.device("cuda")
        return
    memory = 1e9 if request.param == "pretend" else 0.0
    for module in ("estimator", "_fitted"):
        monkeypatch.setattr(f"gpcommittee.{module}.make_engine", lambda n_jobs, device: SerialEngine(memory))
    with pretend_device() as device:
        yield device


def kernel_of(name: str) -> str | Kernel:
    """Kernels by name; the other one is left to automatic differentiation, and has a prior."""
    if name != "graph":
        return name
    prior = GammaPrior(2.0, 3.0)
    return ScaleKernel(RBFKernel(ard_num_dims=2, lengthscale_prior=prior)) + PeriodicKernel(active_dims=(1,))


def fitted(kernel: str, device: torch.device | None, dtype: str = "float64") -> CommitteeRegressor:
    model = CommitteeRegressor(
        kernel_of(kernel),
        n_experts=3,
        partition="random" if kernel == "graph" else "tree",
        aggregation="grbcm" if kernel == "graph" else "neighbourhood",
        max_evaluations=2,
        random_state=0,
        device=device,
        dtype=dtype,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two evaluations do not converge
        return model.fit(X, Y)


def predicted(model: CommitteeRegressor) -> list[FloatArray]:
    found = [model.predict(X_TEST, return_std=True, aggregation=rule) for rule in ("grbcm", "rbcm", "npae")]
    return [*(part for pair in found for part in pair), *model.predict_covariance(X_TEST[:5], aggregation="npae")]


@pytest.mark.parametrize("kernel", KERNELS)
def test_fit_and_predictions_equal_those_on_the_cpu(kernel: str, elsewhere: torch.device) -> None:
    there = fitted(kernel, elsewhere)
    assert there.committee_.X.device.type == elsewhere.type
    found, mean = predicted(there), there.predict(X_TEST, aggregation="communication")
    here = fitted(kernel, None)
    for a, b in zip(found, predicted(here), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(mean, here.predict(X_TEST, aggregation="communication"), rtol=1e-7, atol=1e-7)


def test_float32(elsewhere: torch.device) -> None:
    there = fitted("matern32", elsewhere, "float32").predict(X_TEST, return_std=True)
    here = fitted("matern32", None, "float32").predict(X_TEST, return_std=True)
    np.testing.assert_allclose(there, here, rtol=1e-2, atol=1e-2)


def test_a_model_moves_between_devices_by_its_file(elsewhere: torch.device, tmp_path: Path) -> None:
    model = fitted("rational_quadratic", elsewhere)
    model.save(tmp_path / "model.gpc")
    here = CommitteeRegressor.load(tmp_path / "model.gpc", device="cpu")
    assert here.committee_.X.device.type == "cpu"
    np.testing.assert_allclose(here.predict(X_TEST), model.predict(X_TEST), rtol=1e-9, atol=1e-9)
    again = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert again.committee_.X.device.type == elsewhere.type
    np.testing.assert_allclose(again.predict(X_TEST), model.predict(X_TEST), rtol=1e-9, atol=1e-9)
