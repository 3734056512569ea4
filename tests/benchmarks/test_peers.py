"""Each peer is the GP it claims to be; runs are isolated, stored once and shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from benchmarks._child import ChildError, ask_child
from benchmarks.paper.store import read_rows
from benchmarks.peers import __main__ as command
from benchmarks.peers.run import Place, execute, unknown_settings
from benchmarks.peers.spec import PeerRun, PeerSystem
from benchmarks.peers.studies import STUDIES, runs, shrunk, systems
from benchmarks.peers.systems import committee, exact, neighbours, svgp
from gpcommittee import CommitteeRegressor, paper_committee
from gpcommittee.datasets import make_toy
from gpcommittee.metrics import coverage, smse
from gpcommittee.records import FloatArray

TRAIN, TEST = make_toy(80, seed=1), make_toy(50, seed=2)


def standardised(values: FloatArray, of: FloatArray) -> FloatArray:
    scaled: FloatArray = (values - of.mean(axis=0)) / of.std(axis=0, ddof=1)
    return scaled


X, y = standardised(TRAIN.X, TRAIN.X), standardised(TRAIN.y, TRAIN.y)
X_TEST, Y_TEST = standardised(TEST.X, TRAIN.X), standardised(TEST.y, TRAIN.y)
EXACT = PeerSystem("exact-60", "exact", "exact", {"kernel": "matern32", "n_subset": 60})


def posterior(variance: float, lengthscale: float, noise: float) -> tuple[FloatArray, FloatArray]:
    """The exact squared-exponential GP's mean and variance of an observation at the test points."""

    def covariance(a: FloatArray, b: FloatArray) -> FloatArray:
        distances: FloatArray = (a - b.T) / lengthscale
        values: FloatArray = variance * np.exp(-0.5 * distances**2)
        return values

    noisy, cross = covariance(X, X) + noise * np.eye(len(X)), covariance(X, X_TEST)
    solved = np.linalg.solve(noisy, np.column_stack([y, cross]))
    return cross.T @ solved[:, 0], variance + noise - np.einsum("ij,ij->j", cross, solved[:, 1:])


def test_exact_is_the_exact_posterior_at_what_it_learned() -> None:
    fitted = exact.fit(X, y, 0, kernel="squared_exponential", n_subset=len(X))
    learned = fitted.learned()["hyperparameters"]
    assert isinstance(learned, dict)
    mean, variance = fitted.predict(X_TEST)
    expected_mean, expected_variance = posterior(*learned.values())
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-6)


def test_neighbours_that_are_all_rows_are_the_exact_process_but_for_the_dispersion() -> None:
    settings = {"kernel": "squared_exponential", "n_subset": len(X), "n_neighbours": len(X), "n_calibration": 20}
    fitted = neighbours.fit(X, y, 0, **settings)  # type: ignore[arg-type]
    learned = fitted.learned()
    hyperparameters = learned["hyperparameters"]
    assert isinstance(hyperparameters, dict)
    mean, variance = fitted.predict(X_TEST)
    expected_mean, expected_variance = posterior(*hyperparameters.values())
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance, fitted.dispersion * expected_variance, rtol=1e-6)


def test_neighbours_leave_a_row_out_whatever_its_copies() -> None:
    doubled, targets = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5] + 1.0])
    settings = {"kernel": "matern32", "n_subset": len(X), "n_neighbours": 12, "n_calibration": 20}
    fitted = neighbours.fit(doubled, targets, 0, **settings)  # type: ignore[arg-type]
    for row in (2, 82, 40):
        others = np.delete(np.arange(len(doubled)), row)
        search = NearestNeighbors(n_neighbors=12).fit(fitted.scaled(doubled[others]))
        alone = replace(fitted, X=doubled[others], y=targets[others], search=search, dispersion=1.0)
        expected = alone.predict(doubled[row : row + 1])
        np.testing.assert_allclose(fitted.leave_one_out(np.array([row])), expected, rtol=1e-9)


def test_vecchia_with_all_neighbours_is_the_exact_posterior_at_what_it_learned() -> None:
    pytest.importorskip("gpboost", reason="needs GPBoost, which the extra 'bench' brings")
    from benchmarks.peers.systems import vecchia

    settings = {"approximation": "vecchia", "n_neighbours": len(X)}
    fitted = vecchia.fit(X, y, 0, kernel="squared_exponential", **settings)  # type: ignore[arg-type]
    learned = fitted.learned()["hyperparameters"]
    assert isinstance(learned, dict)
    noise, variance, reach = learned.values()
    mean, noisy = fitted.predict(X_TEST)
    expected_mean, expected_variance = posterior(variance, reach / np.sqrt(2.0), noise)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(noisy, expected_variance, rtol=1e-4)


def test_svgp_learns_and_is_calibrated() -> None:
    settings = {"n_inducing": 15, "epochs": 150, "batch_size": 40, "learning_rate": 0.05}
    fitted = svgp.fit(X, y, 0, kernel="squared_exponential", **settings)  # type: ignore[arg-type]
    mean, variance = fitted.predict(X_TEST)
    assert smse(Y_TEST, mean) < 0.15
    assert coverage(Y_TEST, mean, np.sqrt(variance)) > 0.8


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.ConvergenceWarning")
def test_ours_is_the_library_with_the_given_settings() -> None:
    limits = {"max_evaluations": 3}
    ours = committee.fit(X, y, 4, kernel="matern32", expert_size=30, **limits).predict(X_TEST)
    model = CommitteeRegressor("matern32", expert_size=30, random_state=4, **limits).fit(X, y)  # type: ignore[arg-type]
    np.testing.assert_array_equal(ours[0], model.predict(X_TEST, return_std=True)[0])
    paper = committee.fit(X, y, 4, kernel="squared_exponential", paper=4, **limits).predict(X_TEST)
    model = paper_committee(4, random_state=4).set_params(**limits).fit(X, y)
    np.testing.assert_allclose(paper[1], np.asarray(model.predict(X_TEST, return_std=True)[1]) ** 2, rtol=1e-12)


@pytest.mark.parametrize("study", STUDIES)
def test_runs_have_names_and_settings_of_their_own(study: str) -> None:
    found = runs(study, systems(study, None, {}), None, None, 2)
    assert len({run.name for run in found}) == len({run.settings() for run in found}) == len(found)
    kernels = {run.system.tag: run.system.settings["kernel"] for run in found}
    assert kernels.pop("ours-auto") == "auto"
    assert set(kernels.values()) == {STUDIES[study].kernel}


def test_kin40k_has_the_peers_at_their_sizes() -> None:
    settings = {system.tag: system.settings for system in systems("kin40k", None, {})}
    assert settings["svgp-512"]["epochs"] == 40
    assert settings["vecchia-30"]["n_neighbours"] == settings["full-scale-300-30"]["n_neighbours"] == 30
    assert settings["full-scale-300-30"]["n_inducing"] == 300
    assert settings["ours-paper"]["paper"] == 16
    assert settings["neighbours-400"]["n_neighbours"] == 400
    assert {"exact-2000", "exact-4000", "ours"} <= settings.keys()


def test_a_setting_that_the_library_does_not_have_is_named_and_its_run_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    system = PeerSystem("ours-x", "ours", "committee", {"paper": 4, "expert_size": 10, "from_the_future": 1})
    assert unknown_settings(system) == ["from_the_future"]
    run = PeerRun("geoid", 60, 20, system)
    assert command.run_all([run], Place(tmp_path), redo=False) == 0
    assert capsys.readouterr().out == f"{run.name}: skipped, this version does not know from_the_future\n"
    assert not list(tmp_path.iterdir())


def test_a_run_is_stored_once_with_all_that_made_it_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["geoid", "--smoke", "--only", "*exact-2000*", "--results", str(tmp_path)]
    assert command.main(arguments) == 0
    (row,) = read_rows(tmp_path, "geoid")
    numbers = ("fit_cpu_s", "fit_wall_s", "predict_cpu_s", "dgemm_gflops", "peak_memory_gib", "smse", "mean_squared_z")
    assert all(isinstance(row[name], float) and row[name] > 0 for name in numbers)  # type: ignore[operator]
    assert row["peak_memory_gib"] < 0.4, "PyTorch is no part of scikit-learn's memory"  # type: ignore[operator]
    assert {"gpboost", "torch", "commit"} <= json.loads(str(row["versions"])).keys()
    assert json.loads(str(row["settings"]))["system"]["kernel"] == "matern32"
    assert command.main(arguments) == 0
    assert "stored already" in capsys.readouterr().out
    page = (tmp_path / "geoid.md").read_text(encoding="utf-8")
    assert f"| scikit-learn, exact on 2,000 rows | {row['fit_cpu_s']:.1f} |" in page
    assert 'PEERS_ARGS="geoid --rows 300 --test-rows 60"' in page
    assert (tmp_path / "geoid_300.png").exists()
    overview = (tmp_path / "overview.md").read_text(encoding="utf-8")
    seconds = row["fit_cpu_s"] + row["predict_cpu_s"]  # type: ignore[operator]
    assert f"| geoid, 300 / 60 |  | {row['smse']:.3g} / {row['msll']:.3f} / {seconds:.0f} s |  |  |  |" in overview


def test_scores_are_in_the_targets_own_units(tmp_path: Path) -> None:
    run = PeerRun("geoid", 200, 40, replace(EXACT, settings={**EXACT.settings, "n_subset": 200}))
    execute(run, Place(tmp_path))
    (row,) = read_rows(tmp_path, "geoid")
    assert 1.0 < row["rmse"] < 40.0  # type: ignore[operator]
    assert row["smse"] < 0.6  # type: ignore[operator]


def test_a_child_that_fails_says_why() -> None:
    question = {"module": "exact", "seed": 0, "settings": {"kernel": "matern32", "n_subset": "many"}}
    with pytest.raises(ChildError, match="TypeError"):
        ask_child("benchmarks.peers.child", question, {"X": X, "y": y, "X_test": X_TEST})


def test_smoke_runs_are_small() -> None:
    for system in systems("kin40k", None, {}):
        small = shrunk(system)
        numbers = [value for value in small.settings.values() if isinstance(value, int)]
        assert max(numbers, default=0) <= 80
        assert small.settings.keys() >= system.settings.keys()
