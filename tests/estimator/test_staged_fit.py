"""Training on some of the experts, and the partition in the learned metric, as the estimator offers them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpytorch.kernels import LinearKernel, RBFKernel, ScaleKernel

from gpcommittee import CommitteeRegressor
from gpcommittee.engines import SerialEngine
from gpcommittee.errors import CheckpointError, ConvergenceWarning, InvalidParameterError
from gpcommittee.kernels import KernelFunction, make_kernel
from gpcommittee.persistence.container import read_model_file, write_model_file
from gpcommittee.progress import SilentReporter
from gpcommittee.records import FloatArray
from gpcommittee.training import FactorisedObjective, SearchSpace, train

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(-1, 1, (2400, 3))
"""The first input matters, the second hardly, the third not at all."""
Y = np.sin(6 * X[:, 0]) + 0.2 * X[:, 1] + 0.1 * GENERATOR.standard_normal(2400)
PLAIN = {"training_experts": "all", "partition_metric": "standardised"}
pytestmark = pytest.mark.filterwarnings("ignore::gpcommittee.errors.BoundWarning")


def regressor(**settings: Any) -> CommitteeRegressor:
    return CommitteeRegressor(
        **{"kernel": "squared_exponential", "expert_size": 20, "random_state": 0, "n_jobs": 1, **settings}
    )


def fitted(**settings: Any) -> CommitteeRegressor:
    return regressor(**settings).fit(X, Y)


def both(model: CommitteeRegressor) -> FloatArray:
    mean, std = model.predict(X[:25], return_std=True)
    return np.stack([mean, std])


def sizes(model: CommitteeRegressor) -> list[int]:
    assert model.training_ is not None
    return [stage.n_experts for stage in model.training_.stages]


def metrics(model: CommitteeRegressor) -> set[str]:
    assert model.training_ is not None
    return {stage.metric for stage in model.training_.stages}


@pytest.fixture(scope="module")
def default() -> CommitteeRegressor:
    return fitted()


@pytest.fixture(scope="module")
def plain() -> CommitteeRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted(**PLAIN, max_evaluations=12)


def test_all_experts_at_once_is_the_factorised_objective_minimised(plain: CommitteeRegressor) -> None:
    kernel = KernelFunction(make_kernel("squared_exponential", 3))
    blocks = [plain.committee_.block(expert) for expert in range(120)]
    objective = FactorisedObjective(kernel, blocks, SerialEngine())
    start = np.append(kernel.start, np.log(0.1))
    expected = train(objective, len(Y), SearchSpace.of(kernel), start, 12, SilentReporter())
    assert plain.training_ is not None
    np.testing.assert_array_equal(plain.training_.path, expected.record.path)
    np.testing.assert_array_equal(plain.committee_.hyperparameters.kernel, expected.hyperparameters.kernel)
    assert [(s.n_experts, s.metric) for s in plain.training_.stages] == [(120, "standardised")]


def test_some_experts_are_enough(default: CommitteeRegressor) -> None:
    assert sizes(default)[0] == 4
    assert 16 <= sizes(default)[-1] < 120
    everything = fitted(training_experts="all")
    assert sizes(everything)[-1] == 120
    error = both(default)[0] - both(everything)[0]
    assert np.abs(error).max() < 0.2 * both(everything)[1].min()
    np.testing.assert_allclose(both(default)[1], both(everything)[1], rtol=0.1)


def test_a_number_of_experts_is_one_stage() -> None:
    model = fitted(training_experts=7, partition_metric="standardised")
    assert sizes(model) == [7]
    assert sizes(fitted(training_experts=7)) == [4, 7, 7]
    assert sizes(fitted(training_experts=1, partition_metric="standardised")) == [1]


def test_few_experts_are_all_used() -> None:
    assert sizes(regressor(expert_size=300, partition_metric="standardised").fit(X, Y)) == [8]


def test_more_experts_than_there_are() -> None:
    with pytest.raises(InvalidParameterError, match="training_experts=121 exceeds the 120 experts"):
        fitted(training_experts=121)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training_experts": 0}, "training_experts must be 'auto', 'all' or an integer of at least 1, got 0"),
        ({"training_experts": "some"}, "got 'some'"),
        ({"training_experts": True}, "got True"),
        ({"training_experts": 2.5}, "got 2.5"),
        ({"training_experts": None}, "got None"),
        ({"partition_metric": "euclidean"}, "partition_metric must be one of"),
        ({"partition_metric": None}, "partition_metric must be one of"),
    ],
)
def test_settings_that_are_not_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        fitted(**settings)


def test_the_partition_of_a_seed_does_not_depend_on_the_training(plain: CommitteeRegressor) -> None:
    few = fitted(training_experts=2, partition_metric="standardised")
    np.testing.assert_array_equal(few.partition_.order, plain.partition_.order)


def test_same_seed_same_bits_whatever_the_number_of_jobs(default: CommitteeRegressor) -> None:
    threads = fitted(n_jobs=3)
    np.testing.assert_array_equal(both(threads), both(default))
    assert threads.training_ is not None
    assert default.training_ is not None
    np.testing.assert_array_equal(threads.training_.path, default.training_.path)


def test_another_seed_trains_on_other_experts() -> None:
    labels = np.arange(2400) % 60
    models = [
        regressor(expert_size=None, partition=labels, random_state=seed, training_experts=5).fit(X, Y)
        for seed in (0, 1)
    ]
    assert models[0].noise_variance_ != models[1].noise_variance_
    np.testing.assert_array_equal(models[0].partition_.order, models[1].partition_.order)


def extents(model: CommitteeRegressor) -> FloatArray:
    """Mean range of each input in the experts behind the communication expert."""
    ranges = [np.ptp(X[model.partition_.rows(expert)], axis=0) for expert in range(1, 120)]
    mean: FloatArray = np.array(ranges).mean(axis=0)
    return mean


@pytest.mark.parametrize("partition", ["tree", "kmeans"])
def test_rows_are_divided_along_the_inputs_that_matter(partition: str) -> None:
    learned = regressor(partition=partition, training_experts=4).fit(X, Y)
    standardised = regressor(partition=partition, training_experts=4, partition_metric="standardised").fit(X, Y)
    assert metrics(learned) == {"standardised", "learned"}
    assert metrics(standardised) == {"standardised"}
    assert extents(learned)[0] < 0.5 * extents(standardised)[0]
    assert extents(learned)[2] > 1.3 * extents(standardised)[2]
    np.testing.assert_array_equal(learned.partition_.rows(0), standardised.partition_.rows(0))
    np.testing.assert_array_equal(np.sort(learned.partition_.order), np.arange(2400))


def test_a_partition_that_knows_no_distance_has_no_metric() -> None:
    assert metrics(fitted(partition="random", aggregation="grbcm", training_experts=4)) == {"standardised"}
    labels = np.arange(2400) % 10
    assert metrics(regressor(expert_size=None, partition=labels).fit(X, Y)) == {"standardised"}


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        ([0], {}),
        ([0, 1, 2], {"n_experts": 2, "expert_size": None}),
        ([0, 1], {"kernel": RBFKernel()}),
        ([0, 1], {"kernel": LinearKernel()}),
    ],
    ids=["one input", "two experts", "isotropic", "linear"],
)
def test_where_the_metric_makes_no_difference_the_partition_stays(columns: list[int], settings: dict[str, Any]) -> None:
    model = regressor(max_evaluations=10, training_experts=2, **settings).fit(X[:600, columns], Y[:600])
    assert metrics(model) == {"standardised"}


def test_given_lengthscales_are_the_metric_where_nothing_is_learned() -> None:
    kernel = make_kernel("matern52", 3).initialize(**{"base_kernel.lengthscale": [[0.2, 5.0, 1e5]]})
    model = fitted(kernel=kernel, optimizer=None)
    assert model.training_ is None
    assert extents(model)[0] < 0.5 * extents(fitted(optimizer=None))[0]


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.ConvergenceWarning")
def test_a_killed_fit_resumes_to_the_same_bits(tmp_path: Path) -> None:
    path, limit = tmp_path / "fit.jsonl", {"max_evaluations": 8}
    whole = fitted(**limit)
    np.testing.assert_array_equal(both(fitted(**limit, checkpoint=path)), both(whole))
    lines = path.read_bytes().splitlines(keepends=True)
    assert whole.training_ is not None
    evaluations = whole.training_.evaluations
    assert len(lines) == 1 + evaluations
    for n_left in (1, evaluations // 2, evaluations - 1):
        path.write_bytes(b"".join(lines[: 1 + n_left]))
        resumed = fitted(**limit, checkpoint=path)
        assert resumed.training_ is not None
        assert resumed.training_.reused == n_left
        np.testing.assert_array_equal(both(resumed), both(whole))
        np.testing.assert_equal(vars(replace(resumed.training_, reused=0)), vars(whole.training_))
    with pytest.raises(CheckpointError, match="another fit"):
        fitted(**limit, checkpoint=path, random_state=1)


def test_warnings_concern_the_last_stage_alone() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        fitted(max_evaluations=3, training_experts=8)
    assert len(caught) == 1


def test_progress_says_on_which_experts(capfd: pytest.CaptureFixture[str]) -> None:
    fitted(verbose=1, training_experts="all")
    lines = [line.split(":")[0] for line in capfd.readouterr().err.splitlines()]
    stages = ["train on 4 of 120 experts", "train on 16 of 120 experts", "train", "predict left-out rows"]
    assert list(dict.fromkeys(lines)) == stages


def test_a_model_file_keeps_the_stages(default: CommitteeRegressor, tmp_path: Path) -> None:
    default.save(tmp_path / "m.gpc")
    loaded = CommitteeRegressor.load(tmp_path / "m.gpc")
    np.testing.assert_equal(vars(loaded.training_ or object), vars(default.training_ or object))
    assert loaded.get_params() == default.get_params()


def test_a_model_file_from_before_there_were_stages(plain: CommitteeRegressor, tmp_path: Path) -> None:
    plain.save(tmp_path / "new.gpc")
    arrays, manifest = read_model_file(tmp_path / "new.gpc")
    manifest = {key: manifest[key] for key in manifest.keys() - {"format", "schema_version", "libraries", "digest"}}
    del (
        manifest["training"]["stages"],
        manifest["settings"]["training_experts"],
        manifest["settings"]["partition_metric"],
        manifest["settings"]["calibration"],
    )
    write_model_file(tmp_path / "old.gpc", arrays, manifest)
    old = CommitteeRegressor.load(tmp_path / "old.gpc")
    np.testing.assert_array_equal(
        both(old), both(CommitteeRegressor.load(tmp_path / "new.gpc").set_params(calibration=None))
    )
    assert (old.training_experts, old.partition_metric, old.calibration) == ("all", "standardised", None)
    assert old.training_ is not None
    assert old.training_.stages == ()


def test_a_kernel_of_ones_own_making_is_measured() -> None:
    kernel = ScaleKernel(RBFKernel(active_dims=(0,))) * RBFKernel(active_dims=(1,)) * RBFKernel(active_dims=(2,))
    model = fitted(kernel=kernel, training_experts=4)
    assert metrics(model) == {"standardised", "learned"}
    assert extents(model)[0] < 0.5 * extents(model)[2]
