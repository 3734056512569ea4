"""Each system learns: it beats the trivial prediction, says how sure it is, and repeats itself from a seed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from benchmarks.paper.systems import System
from benchmarks.paper.systems.committee import CommitteeSystem, Known
from benchmarks.paper.systems.fitc import FITCSystem
from benchmarks.paper.systems.sod import SODSystem
from benchmarks.paper.systems.svi import SVISystem
from gpcommittee.datasets import make_toy
from gpcommittee.metrics import coverage, smse

TRAIN, TEST = make_toy(300, seed=1), make_toy(200, seed=2)
SYSTEMS: dict[str, System] = {
    "fitc": FITCSystem(n_inducing=12, max_iterations=60),
    "svi": SVISystem(n_inducing=12, batch_size=60, iterations=400, learning_rate=0.05),
    "sod": SODSystem(n_subset=120),
}


def predict(system: System) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (predicted,) = system.fit(TRAIN.X, TRAIN.y, 0, 1).predict(TEST.X)
    return predicted.mean, predicted.std


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_baseline_learns_and_is_calibrated(name: str) -> None:
    if name == "fitc":
        pytest.importorskip("GPy", reason="FITC needs GPy, which the extra 'bench' brings")
    mean, std = predict(SYSTEMS[name])
    assert smse(TEST.y, mean) < 0.06
    assert 0.85 < coverage(TEST.y, mean, std) < 0.99
    np.testing.assert_array_equal(predict(SYSTEMS[name]), (mean, std))


def test_known_hyperparameters_are_kept_in_the_datas_units() -> None:
    fitted = CommitteeSystem(3, known=Known(0.16, 9.0, 0.25)).fit(TRAIN.X, TRAIN.y, 0, 1)
    values = fitted.model.hyperparameters_
    assert values["noise_variance"] * TRAIN.y.var(ddof=1) == pytest.approx(0.25)
    assert values["outputscale"] * TRAIN.y.var(ddof=1) == pytest.approx(9.0)
    assert values["base_kernel.lengthscale"].item() * TRAIN.X.std(ddof=1) == pytest.approx(0.16)


def test_the_exact_gp_of_a_committee_has_its_hyperparameters() -> None:
    known = Known(0.16, 9.0, 0.25)
    alone = CommitteeSystem(1, known=known, exact=True).fit(TRAIN.X, TRAIN.y, 0, 1).predict(TEST.X)
    means = {result.method: result.mean for result in alone if result.form != "library"}
    np.testing.assert_allclose(means["communication"], means["full_gp"], rtol=1e-9)
