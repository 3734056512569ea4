"""Agreement with the authors' own code: likelihood, gradient and every additive rule, at fixed hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gpcommittee import CommitteeRegressor
from gpcommittee.aggregation import PAPER_RULES
from gpcommittee.engines import SerialEngine
from gpcommittee.kernels import make_kernel
from gpcommittee.training import FactorisedObjective

Array = NDArray[np.float64]
RULE_FILES = {"poe": "PoE", "gpoe": "GPoE", "bcm": "BCM", "rbcm": "RBCM", "grbcm": "GRBCM", "npae": "NPAE"}
TOY = Path(__file__).parent / "reference_data" / "toy1d"


@dataclass(frozen=True)
class Reference:
    folder: Path

    def column(self, name: str) -> Array:
        return np.loadtxt(self.folder / f"{name}.csv", delimiter=",", ndmin=1)

    def matrix(self, name: str) -> Array:
        """Inputs, one row per target or per test point."""
        return np.loadtxt(self.folder / f"{name}.csv", delimiter=",", ndmin=2).reshape(
            len(self.column("y" if name == "X" else "mu_full")), -1
        )

    def regressor(self, partition: Array | None = None) -> CommitteeRegressor:
        """A fitted committee at the reference's hyperparameters and partition."""
        X, hyp = self.matrix("X"), self.column("hyp")
        d = X.shape[1]
        kernel = make_kernel("squared_exponential", d)
        raw = {
            "base_kernel.raw_lengthscale": torch.from_numpy(hyp[None, :d]),
            "raw_outputscale": torch.tensor(2 * hyp[d]),
        }
        kernel.load_state_dict(raw, strict=False)
        labels = self.column("idx").astype(int) - 1 if partition is None else partition
        model = CommitteeRegressor(
            kernel,
            partition=labels,
            noise_variance=float(np.exp(2 * hyp[d + 1])),
            optimizer=None,
            calibration=None,
            n_jobs=1,
        )
        return model.fit(X, self.column("y"))


@pytest.fixture(params=["toy1d", "kin8d"])
def reference(request: pytest.FixtureRequest) -> Reference:
    if request.param == "toy1d":
        return Reference(TOY)
    folder: Path = request.getfixturevalue("reference_dir")
    return Reference(folder / "kin8d")


def test_factorised_likelihood_and_gradient(reference: Reference) -> None:
    committee = reference.regressor().committee_
    blocks = [committee.block(expert) for expert in range(committee.n_experts)]
    theta = np.append(committee.hyperparameters.kernel, committee.hyperparameters.log_noise_variance)
    value, gradient = FactorisedObjective(committee.kernel, blocks, SerialEngine())(theta)
    expected = reference.column("nlml")
    by_standard_deviations = np.concatenate([gradient[1:-1], 2 * gradient[[0, -1]]])
    assert value == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(by_standard_deviations, expected[1:], rtol=1e-10)


@pytest.mark.parametrize("rule", sorted(RULE_FILES))
def test_rules(reference: Reference, rule: str) -> None:
    mean, std = reference.regressor().predict(reference.matrix("Xt"), return_std=True, aggregation=PAPER_RULES[rule])
    rtol = 1e-8 if rule == "npae" else 1e-10
    np.testing.assert_allclose(mean, reference.column(f"mu_{RULE_FILES[rule]}"), rtol=rtol)
    np.testing.assert_allclose(std**2, reference.column(f"s2_{RULE_FILES[rule]}"), rtol=rtol)


def test_exact_gp(reference: Reference) -> None:
    everything = np.zeros(len(reference.column("y")), dtype=int)
    mean, std = reference.regressor(everything).predict(reference.matrix("Xt"), return_std=True)
    np.testing.assert_allclose(mean, reference.column("mu_full"), rtol=1e-9)
    np.testing.assert_allclose(std**2, reference.column("s2_full"), rtol=1e-10)


def test_mean_only_path_is_the_same_mean(reference: Reference) -> None:
    everything = np.zeros(len(reference.column("y")), dtype=int)
    mean = reference.regressor(everything).predict(reference.matrix("Xt"))
    np.testing.assert_allclose(mean, reference.column("mu_full"), rtol=1e-9)
