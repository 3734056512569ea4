from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gpytorch.kernels import (
    ConstantKernel,
    GridInterpolationKernel,
    InducingPointKernel,
    LinearKernel,
    MaternKernel,
    RBFKernel,
    RFFKernel,
    ScaleKernel,
)
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.priors import GammaPrior
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gpcommittee import CommitteeRegressor, GPCommitteeWarning, paper_committee
from gpcommittee.aggregation import GRBCM, NPAE, PAPER_RULES, RULES, GPoE, PoE
from gpcommittee.errors import CheckpointError, InvalidParameterError, ModelFileError
from gpcommittee.kernels import make_kernel
from gpcommittee.persistence import read_metadata
from gpcommittee.records import FloatArray

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(-1, 1, (120, 2))
Y = np.sin(3 * X).sum(axis=1) + 0.1 * GENERATOR.standard_normal(120)
AT_ONCE: dict[str, Any] = {"training_experts": "all", "partition_metric": "standardised"}
pytestmark = pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")


def regressor(**settings: Any) -> CommitteeRegressor:
    return CommitteeRegressor(
        **{
            "kernel": "squared_exponential",
            "expert_size": 30,
            "max_evaluations": 12,
            "random_state": 0,
            "n_jobs": 1,
            **settings,
        }
    )


def both(model: CommitteeRegressor, **options: Any) -> FloatArray:
    mean, std = model.predict(X[:25], return_std=True, **options)
    return np.stack([mean, std])


def test_predicts_well() -> None:
    model = CommitteeRegressor(expert_size=30, random_state=0, n_jobs=1).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert model.score(X, Y) > 0.98
    assert 0.05 < np.sqrt(model.noise_variance_) * Y.std() < 0.15
    assert 0.8 < np.mean(((Y - mean) / std) ** 2) < 1.2 or np.mean(np.abs(Y - mean) < 1.96 * std) > 0.93


def test_same_seed_same_bits_whatever_the_number_of_jobs() -> None:
    first, second, threads = (both(regressor(n_jobs=jobs).fit(X, Y)) for jobs in (1, 1, 3))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, threads)


def test_random_state_accepts_a_generator() -> None:
    models = [regressor(random_state=np.random.RandomState(3)).fit(X, Y) for _ in range(2)]
    np.testing.assert_array_equal(models[0].partition_.order, models[1].partition_.order)


def test_any_rule_without_a_refit() -> None:
    model = regressor().fit(X, Y)
    for name, rule in RULES.items():
        np.testing.assert_array_equal(both(model, aggregation=name), both(model, aggregation=rule))
    np.testing.assert_array_equal(both(model), both(model, aggregation="neighbourhood"))
    np.testing.assert_array_equal(
        both(regressor(aggregation=GPoE(weights="entropy")).fit(X, Y)), both(model, aggregation=GPoE(weights="entropy"))
    )


def test_many_rules_in_one_pass() -> None:
    model = regressor().fit(X, Y)
    for name, prediction in zip(RULES, model.predict_rules(X[:25], list(RULES)), strict=True):
        assert prediction.var_noisy is not None
        np.testing.assert_allclose([prediction.mean, np.sqrt(prediction.var_noisy)], both(model, aggregation=name))


def test_noise_is_part_of_the_standard_deviation_unless_left_out() -> None:
    model = regressor(calibration=None).fit(X, Y)
    noisy, latent = both(model)[1], both(model, include_noise=False)[1]
    np.testing.assert_allclose(noisy**2 - latent**2, model.noise_variance_ * Y.var(ddof=1), rtol=1e-8)


def test_latent_standard_deviation_of_an_overconfident_rule_is_zero_not_nan() -> None:
    many = regressor(expert_size=5).fit(X, Y)
    _, std = many.predict(X, return_std=True, aggregation=PoE(level="observation"), include_noise=False)
    assert (std >= 0).all()


def test_calibration_is_switched_without_a_refit() -> None:
    calibrated, plain = regressor().fit(X, Y), regressor(calibration=None).fit(X, Y)
    expected = both(plain)
    assert np.abs(both(calibrated)[1] / expected[1] - 1).max() > 1e-3
    np.testing.assert_array_equal(both(calibrated.set_params(calibration=None)), expected)
    np.testing.assert_array_equal(both(calibrated.set_params(calibration="loo"))[0], expected[0])


def test_calibration_brings_stated_and_true_errors_together() -> None:
    """Noise that differs between the regions of experts, which one noise variance cannot follow."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-2, 2, (1200, 2))
    y = np.sin(2 * x).sum(axis=1) + np.where(x[:, 0] > 0, 0.5, 0.05) * generator.standard_normal(1200)
    new = generator.uniform(-2, 2, (2000, 2))
    deviation = np.where(new[:, 0] > 0, 0.5, 0.05)
    target = np.sin(2 * new).sum(axis=1) + deviation * generator.standard_normal(2000)
    model = regressor(expert_size=100, partition_metric="standardised").fit(x, y)
    losses = []
    for calibration in ("loo", None):
        mean, std = model.set_params(calibration=calibration).predict(new, return_std=True)
        losses.append(np.mean(np.log(std) + 0.5 * ((target - mean) / std) ** 2))
    assert losses[0] < losses[1] - 0.3


def test_an_unknown_calibration_is_refused_before_and_after_the_fit() -> None:
    with pytest.raises(
        InvalidParameterError, match=r"calibration must be one of \('held_out', 'loo', None\), got 'cv'"
    ):
        regressor(calibration="cv").fit(X, Y)
    with pytest.raises(InvalidParameterError, match="calibration must be one of"):
        regressor().fit(X, Y).set_params(calibration=True).predict(X)


def test_labels_as_partition() -> None:
    labels = np.arange(120) % 4
    model = regressor(partition=labels, expert_size=None).fit(X, Y)
    np.testing.assert_array_equal(model.partition_.labels(), labels)
    with pytest.raises(InvalidParameterError, match="must be None when partition is an array"):
        regressor(partition=labels).fit(X, Y)


def test_optimizer_none_keeps_the_hyperparameters() -> None:
    kernel = make_kernel("matern32", 2)
    kernel.initialize(outputscale=1.7)
    model = regressor(kernel=kernel, optimizer=None, noise_variance=0.03).fit(X, Y)
    assert model.training_ is None
    assert model.noise_variance_ == pytest.approx(0.03)
    assert float(model.hyperparameters_["outputscale"]) == pytest.approx(1.7)


@pytest.mark.parametrize(
    "kernel",
    ["matern12", "rational_quadratic", RBFKernel(), ScaleKernel(MaternKernel(nu=0.5)) + ScaleKernel(LinearKernel())],
    ids=["name", "rq", "rbf", "sum"],
)
def test_any_kernel(kernel: Any) -> None:
    model = regressor(kernel=kernel).fit(X, Y)
    assert np.isfinite(both(model)).all()
    assert model.training_ is not None
    assert model.training_.path[0] > model.training_.objective


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_kernel_that_returns_a_shared_matrix_is_not_overwritten(rule: str) -> None:
    model = regressor(kernel=ConstantKernel(), optimizer=None).fit(X, Y)
    np.testing.assert_allclose(both(model, aggregation=rule)[0], Y.mean(), atol=0.4)


@pytest.mark.parametrize("first", ["matern12", MaternKernel(nu=0.5)])
def test_a_checkpoint_of_another_kernel_is_refused(first: Any, tmp_path: Path) -> None:
    regressor(kernel=first, checkpoint=tmp_path / "fit.jsonl").fit(X, Y)
    second = "matern52" if isinstance(first, str) else MaternKernel(nu=2.5)
    with pytest.raises(CheckpointError, match="another fit"):
        regressor(kernel=second, checkpoint=tmp_path / "fit.jsonl").fit(X, Y)


def test_saving_says_that_priors_are_not_stored(tmp_path: Path) -> None:
    model = regressor(kernel=RBFKernel(lengthscale_prior=GammaPrior(2.0, 3.0))).fit(X, Y)
    with pytest.warns(GPCommitteeWarning, match=r"priors \(lengthscale_prior\) are not stored"):
        model.save(tmp_path / "m.gpc")


@pytest.mark.parametrize(
    "mode",
    [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu", torch.bfloat16), lambda: torch.device("meta")],
    ids=["inference", "no_grad", "autocast", "default device"],
)
def test_the_callers_pytorch_modes_change_nothing(mode: Any) -> None:
    expected = both(regressor().fit(X, Y))
    with mode():
        np.testing.assert_array_equal(both(regressor().fit(X, Y)), expected)


def test_numbers_do_not_depend_on_the_callers_threads() -> None:
    first, second = regressor().fit(X, Y), regressor().fit(X, Y)
    expected = both(first)
    torch.set_num_threads(2)
    try:
        np.testing.assert_array_equal(both(second), expected)
    finally:
        torch.set_num_threads(1)


def test_the_kernel_given_is_not_changed() -> None:
    kernel = ScaleKernel(RBFKernel())
    before = {name: value.clone() for name, value in kernel.named_parameters()}
    model = regressor(kernel=kernel).fit(X, Y)
    assert all(torch.equal(value, before[name]) for name, value in kernel.named_parameters())
    assert model.kernel is kernel
    assert model.kernel_ is not kernel


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"aggregation": "npoe"}, "Unknown aggregation 'npoe'"),
        ({"aggregation": 3}, "Unknown aggregation 3"),
        ({"kernel": "rbf"}, "Unknown kernel 'rbf'"),
        ({"kernel": 3}, "kernel must be a name"),
        ({"kernel": RBFKernel(ard_num_dims=5)}, "kernel fails on inputs with 2 columns"),
        ({"partition": "forest"}, "Unknown partition 'forest'"),
        ({"partition": [0, 1]}, "labels"),
        ({"n_experts": 3}, "both given"),
        ({"expert_size": 0}, "expert_size"),
        ({"communication_size": 500}, "communication_size"),
        ({"noise_variance": 0.0}, "noise_variance must be a finite number above 0, got 0.0"),
        ({"noise_variance": "low"}, "noise_variance"),
        ({"optimizer": "adam"}, "optimizer must be one of"),
        ({"max_evaluations": 0}, "max_evaluations must be an integer of at least 1, got 0"),
        ({"max_evaluations": 2.5}, "max_evaluations"),
        ({"random_state": "x"}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"device": "abacus"}, "device 'abacus' cannot be used here"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"memory_budget": -1}, "memory_budget"),
        ({"verbose": -1}, "verbose"),
        ({"optimizer": np.zeros(2)}, "optimizer"),
        ({"noise_variance": 10**400}, "noise_variance"),
        ({"device": "meta"}, "device 'meta' cannot be used here"),
        ({"checkpoint": 3}, "checkpoint must be None or a path, got 3"),
        ({"checkpoint": ""}, "checkpoint"),
        ({"checkpoint": b"fit"}, "checkpoint"),
        ({"kernel": RFFKernel(num_samples=10)}, "random numbers of its own"),
        ({"kernel": GridInterpolationKernel(RBFKernel(), grid_size=16, num_dims=2)}, "kernel"),
        ({"kernel": InducingPointKernel(RBFKernel(), torch.zeros(3, 2), GaussianLikelihood())}, "kernel"),
    ],
)
def test_settings_that_are_not_allowed(settings: dict[str, Any], message: str) -> None:
    if "partition" in settings and not isinstance(settings["partition"], str):
        settings = {**settings, "expert_size": None}
    with pytest.raises(InvalidParameterError, match=message):
        regressor(**settings).fit(X, Y)


@pytest.mark.parametrize("rules", ["grbcm", None, 3])
def test_what_is_no_sequence_of_rules(rules: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"aggregations must be a sequence, such as \['grbcm'\]"):
        regressor().fit(X, Y).predict_rules(X, rules)  # type: ignore[arg-type]


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        regressor().predict(X)
    with pytest.raises(NotFittedError):
        regressor().save("never.gpc")


def test_pickle_and_clone() -> None:
    model = regressor(kernel=ScaleKernel(RBFKernel())).fit(X, Y)
    np.testing.assert_array_equal(both(pickle.loads(pickle.dumps(model))), both(model))
    np.testing.assert_array_equal(both(clone(model).fit(X, Y)), both(model))


def test_pipeline_and_grid_search() -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), regressor()),
        {"committeeregressor__aggregation": ["poe", "grbcm"], "committeeregressor__expert_size": [20, 40]},
        cv=2,
    ).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": ScaleKernel(MaternKernel(nu=1.5, ard_num_dims=2)) + RBFKernel(active_dims=(0,))},
        {"dtype": "float32", "optimizer": None},
        {"partition": np.arange(120) % 3, "expert_size": None, "aggregation": GRBCM(lead="first", level="observation")},
        {"random_state": np.random.RandomState(1), "aggregation": PAPER_RULES["rbcm"], "partition": "kmeans"},
    ],
    ids=["default", "kernel", "float32", "labels", "paper"],
)
def test_a_model_file_predicts_bit_identically_in_a_new_process(settings: dict[str, Any], tmp_path: Path) -> None:
    model = regressor(**settings).fit(X, Y)
    path = tmp_path / "model.gpc"
    model.save(path)
    np.save(tmp_path / "X.npy", X[:25])
    script = (
        "import sys, numpy as np; from gpcommittee import CommitteeRegressor\n"
        "model = CommitteeRegressor.load(sys.argv[1] + '/model.gpc')\n"
        "np.save(sys.argv[1] + '/out.npy', np.stack(model.predict(np.load(sys.argv[1] + '/X.npy'), return_std=True)))"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), both(model))
    loaded = CommitteeRegressor.load(path)
    np.testing.assert_equal(vars(loaded.training_ or object), vars(model.training_ or object))
    assert loaded.hyperparameters_.keys() == model.hyperparameters_.keys()
    np.testing.assert_array_equal(loaded.partition_.order, model.partition_.order)


def test_loaded_models_keep_settings_names_and_metadata(tmp_path: Path) -> None:
    import pandas as pd

    model = regressor(aggregation=GPoE(weights="entropy")).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    model.save(tmp_path / "m.gpc", metadata={"unit": "mm"})
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    assert list(loaded.feature_names_in_) == ["a", "b"]
    assert loaded.get_params() == model.get_params()
    assert read_metadata(tmp_path / "m.gpc") == {"unit": "mm"}
    refit = loaded.fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    np.testing.assert_array_equal(
        refit.predict(pd.DataFrame(X, columns=["a", "b"])), model.predict(pd.DataFrame(X, columns=["a", "b"]))
    )


class Doubled(RBFKernel):
    """A kernel class that no model file can describe."""

    def forward(self, *inputs: torch.Tensor, **options: Any) -> torch.Tensor:  # type: ignore[override]
        result: torch.Tensor = 2 * super().forward(*inputs, **options)  # type: ignore[no-untyped-call]
        return result


def test_a_kernel_class_of_ones_own_is_given_again(tmp_path: Path) -> None:
    model = regressor(kernel=Doubled()).fit(X, Y)
    model.save(tmp_path / "m.gpc")
    with pytest.raises(InvalidParameterError, match=r"load\(path, kernel=...\)"):
        CommitteeRegressor.load(tmp_path / "m.gpc")
    np.testing.assert_array_equal(both(CommitteeRegressor.load(tmp_path / "m.gpc", kernel=Doubled())), both(model))


def test_a_model_of_another_device_is_loaded_on_request(tmp_path: Path) -> None:
    model = regressor().fit(X, Y)
    model.set_params(device="abacus").save(tmp_path / "m.gpc")
    with pytest.raises(InvalidParameterError, match="device 'abacus' cannot be used here"):
        CommitteeRegressor.load(tmp_path / "m.gpc")
    np.testing.assert_array_equal(both(CommitteeRegressor.load(tmp_path / "m.gpc", device="cpu")), both(model))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gpc").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError):
        CommitteeRegressor.load(tmp_path / "m.gpc")


def test_a_checkpoint_resumes_and_refuses_other_data(tmp_path: Path) -> None:
    path = tmp_path / "fit.jsonl"
    first = regressor(checkpoint=path, max_evaluations=5, **AT_ONCE).fit(X, Y)
    resumed = regressor(checkpoint=path, **AT_ONCE).fit(X, Y)
    assert first.training_ is not None
    assert resumed.training_ is not None
    assert resumed.training_.reused == first.training_.evaluations == 5
    np.testing.assert_array_equal(both(resumed), both(regressor(**AT_ONCE).fit(X, Y)))
    with pytest.raises(CheckpointError, match="another fit"):
        regressor(checkpoint=path, **AT_ONCE).fit(X, 2 * Y**2)


def test_silent_by_default_and_talkative_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    both(regressor().fit(X, Y))
    assert capfd.readouterr() == ("", "")
    both(regressor(verbose=1).fit(X, Y))
    assert "train" in capfd.readouterr().err


def test_the_memory_budget_can_be_changed_after_the_fit() -> None:
    model = regressor().fit(X, Y)
    expected = both(model)
    np.testing.assert_array_equal(both(model.set_params(memory_budget=1e-9)), expected)
    with pytest.raises(InvalidParameterError, match="memory_budget"):
        both(model.set_params(memory_budget=0))


def test_thread_setting_is_restored() -> None:
    torch.set_num_threads(2)
    try:
        both(regressor(n_jobs=2).fit(X, Y))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_paper_committee_is_the_papers_configuration() -> None:
    model = paper_committee(4, "grbcm", random_state=0)
    assert (model.partition, model.max_evaluations, model.kernel) == ("kmeans", 500, "squared_exponential")
    assert model.aggregation == GRBCM(level="observation", lead="first")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GPCommitteeWarning)
        assert model.fit(X, Y).partition_.n_experts == 4
    with pytest.raises(InvalidParameterError, match="Unknown aggregation"):
        paper_committee(4, "svi")


def test_covariance_between_points_is_npaes_alone() -> None:
    model = regressor(calibration=None).fit(X, Y)
    mean, noisy = model.predict_covariance(X[:25])
    expected_mean, std = both(model, aggregation="npae")
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-8)
    np.testing.assert_allclose(np.sqrt(noisy.diagonal()), std, rtol=1e-8)
    latent = model.predict_covariance(X[:25], include_noise=False)[1]
    np.testing.assert_allclose(noisy - latent, np.eye(25) * model.noise_variance_ * Y.var(ddof=1), atol=1e-12)
    with pytest.raises(InvalidParameterError, match="defined for NPAE alone, got 'grbcm'"):
        model.predict_covariance(X[:5], aggregation="grbcm")


def test_npae_is_a_models_rule_and_is_saved(tmp_path: Path) -> None:
    rule = NPAE(jitter=1e-10)
    model = regressor(aggregation=rule).fit(X, Y)
    model.save(tmp_path / "model.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "model.gpc")
    assert loaded.aggregation == rule
    np.testing.assert_array_equal(both(loaded), both(model))
