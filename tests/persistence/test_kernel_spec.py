from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from operator import add, mul
from typing import Any

import gpytorch
import pytest
import torch
from gpytorch.constraints import GreaterThan, Interval, LessThan, Positive
from gpytorch.kernels import (
    ConstantKernel,
    CosineKernel,
    Kernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    PiecewisePolynomialKernel,
    PolynomialKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from gpytorch.priors import GammaPrior
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpcommittee.errors import InvalidParameterError, ModelFileError
from gpcommittee.persistence.kernel_spec import KERNEL_SETTINGS, kernel_from_spec, kernel_to_spec, prior_names

N_FEATURES = 3
EXP: dict[str, Any] = {"transform": torch.exp, "inv_transform": torch.log}


def scaled_ard() -> Kernel:
    base = RBFKernel(ard_num_dims=N_FEATURES, lengthscale_constraint=Positive(**EXP))
    return ScaleKernel(base, outputscale_constraint=Positive(**EXP))


def shared_square() -> Kernel:
    kernel = RBFKernel()
    return kernel * kernel


def shared_across_levels() -> Kernel:
    kernel = RBFKernel()
    return MaternKernel() + kernel + ScaleKernel(kernel * CosineKernel())


def frozen_scale() -> Kernel:
    kernel = ScaleKernel(RBFKernel())
    kernel.raw_outputscale.requires_grad_(False)
    return kernel


def untransformed() -> Any:
    kernel: Any = RBFKernel(lengthscale_constraint=Positive(transform=None, inv_transform=None))
    kernel.lengthscale = 0.7
    return kernel


def nested_sum() -> Kernel:
    seasonal = ScaleKernel(PeriodicKernel(active_dims=(2,), period_length_constraint=Interval(0.5, 2.0)))
    trend = ScaleKernel(LinearKernel(active_dims=(0, 1), variance_constraint=LessThan(5.0)))
    return seasonal * RBFKernel(active_dims=(0,)) + trend + ConstantKernel(constant_constraint=GreaterThan(1e-4))


def sum_on_some_inputs() -> Kernel:
    kernel = RBFKernel() + MaternKernel()
    kernel.register_buffer("active_dims", torch.tensor([2, 0]))
    return kernel


KERNELS: dict[str, Callable[[], Kernel]] = {
    "RBF": RBFKernel,
    "RBF of two inputs": lambda: RBFKernel(ard_num_dims=2, active_dims=(2, 0)),
    "Matern 1/2": lambda: MaternKernel(nu=0.5),
    "Matern 3/2": lambda: MaternKernel(nu=1.5, ard_num_dims=N_FEATURES),
    "Matern 5/2": lambda: MaternKernel(lengthscale_constraint=Interval(torch.tensor(0.01), 30.1)),
    "RQ": lambda: RQKernel(ard_num_dims=N_FEATURES, alpha_constraint=GreaterThan(0.1)),
    "periodic": PeriodicKernel,
    "periodic ARD": lambda: PeriodicKernel(ard_num_dims=N_FEATURES),
    "cosine": CosineKernel,
    "linear": LinearKernel,
    "linear ARD": lambda: LinearKernel(ard_num_dims=N_FEATURES),
    "polynomial": lambda: PolynomialKernel(power=3),
    "polynomial of a tensor": lambda: PolynomialKernel(power=torch.tensor(2)),  # type: ignore[arg-type]
    "constant": ConstantKernel,
    "piecewise polynomial": lambda: PiecewisePolynomialKernel(q=1, ard_num_dims=N_FEATURES),
    "spectral mixture": lambda: SpectralMixtureKernel(num_mixtures=4, ard_num_dims=N_FEATURES),
    "scaled ARD": scaled_ard,
    "scaled of one input": lambda: ScaleKernel(RBFKernel(active_dims=(1,))),
    "scaled on one input": lambda: ScaleKernel(RBFKernel(), active_dims=(1,)),
    "untransformed": untransformed,
    "initial value": lambda: RBFKernel(lengthscale_constraint=Positive(initial_value=torch.tensor(0.3))),
    "frozen scale": frozen_scale,
    "nested sum": nested_sum,
    "shared square": shared_square,
    "shared across levels": shared_across_levels,
    "sum on some inputs": sum_on_some_inputs,
}


def with_values(kernel: Kernel, seed: int = 0) -> Kernel:
    """In float64, with parameters that float32 cannot hold."""
    generator = torch.Generator().manual_seed(seed)
    kernel = kernel.double()
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.copy_(0.1 + torch.rand(parameter.shape, generator=generator, dtype=torch.float64))
    return kernel


def through_json(kernel: Kernel) -> Kernel:
    return kernel_from_spec(json.loads(json.dumps(kernel_to_spec(kernel), allow_nan=False, sort_keys=True)))


def covariance(kernel: Kernel) -> Tensor:
    X = torch.randn(6, N_FEATURES, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad(), gpytorch.settings.lazily_evaluate_kernels(False):
        dense: Tensor = kernel(X, X[:4]).to_dense()
    return dense


def assert_same_kernel(found: Kernel, expected: Kernel) -> None:
    assert torch.equal(covariance(found), covariance(expected))
    names = [name for name, _ in expected.named_parameters()]
    assert [name for name, _ in found.named_parameters()] == names
    pairs = zip(found.named_parameters_and_constraints(), expected.named_parameters_and_constraints(), strict=True)
    for (_, value, constraint), (_, expected_value, expected_constraint) in pairs:
        assert value.dtype == torch.float64
        assert value.requires_grad == expected_value.requires_grad
        assert torch.equal(value, expected_value)
        assert constraint is not None
        assert expected_constraint is not None
        assert type(constraint) is type(expected_constraint)
        assert torch.equal(constraint.transform(value), expected_constraint.transform(expected_value))
    state, expected_state = found.state_dict(), expected.state_dict()
    assert state.keys() == expected_state.keys()
    assert all(torch.equal(state[key], expected_state[key]) for key in state)


@pytest.mark.parametrize("name", KERNELS)
def test_round_trip_is_exact(name: str) -> None:
    kernel = with_values(KERNELS[name]())
    assert_same_kernel(through_json(kernel), kernel)


@pytest.mark.parametrize("name", KERNELS)
def test_a_float32_kernel_is_rebuilt_as_double_makes_it(name: str) -> None:
    kernel = KERNELS[name]()
    assert_same_kernel(through_json(kernel), deepcopy(kernel).double())


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_is_not_changed(name: str) -> None:
    kernel = KERNELS[name]()
    before = deepcopy(kernel.state_dict())
    kernel_to_spec(kernel)
    assert all(torch.equal(value, before[key]) for key, value in kernel.state_dict().items())


@pytest.mark.parametrize("name", KERNELS)
def test_the_rebuilt_kernel_is_described_the_same(name: str) -> None:
    spec = kernel_to_spec(with_values(KERNELS[name]()))
    assert kernel_to_spec(kernel_from_spec(spec)) == spec


LEAVES = st.sampled_from([name for name, build in KERNELS.items() if not list(build().sub_kernels())])
TREES = st.recursive(
    LEAVES.map(lambda name: KERNELS[name]()),
    lambda inner: st.builds(ScaleKernel, inner) | st.builds(add, inner, inner) | st.builds(mul, inner, inner),
    max_leaves=5,
)


@settings(max_examples=50, deadline=None)
@given(TREES, st.integers(0, 2**31))
def test_any_combination_survives(kernel: Kernel, seed: int) -> None:
    assert_same_kernel(through_json(with_values(kernel, seed)), kernel)


@given(st.lists(st.floats(-30, 30), min_size=4, max_size=4))
def test_parameter_values_survive_bit_for_bit(values: list[float]) -> None:
    kernel = scaled_ard().double()
    with torch.no_grad():
        for parameter, value in zip(kernel.parameters(), (values[:1], values[1:]), strict=True):
            parameter.copy_(torch.tensor(value, dtype=torch.float64).reshape(parameter.shape))
    found = torch.cat([parameter.flatten() for parameter in through_json(kernel).parameters()])
    assert [value.hex() for value in found.tolist()] == [value.hex() for value in values]


def test_every_supported_class_has_a_round_trip_above() -> None:
    tried = {type(module) for build in KERNELS.values() for module in build().modules() if isinstance(module, Kernel)}
    assert tried == KERNEL_SETTINGS.keys()


def test_a_kernel_used_twice_is_shared_again() -> None:
    kernel: Any = through_json(shared_square())
    assert kernel.kernels[0] is kernel.kernels[1]


def test_random_numbers_are_not_drawn() -> None:
    spec = kernel_to_spec(nested_sum())
    state = torch.random.get_rng_state()
    kernel_from_spec(spec)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_priors_are_named_and_left_out() -> None:
    kernel = ScaleKernel(RBFKernel(lengthscale_prior=GammaPrior(3.0, 6.0)))
    assert prior_names(kernel) == ("base_kernel.lengthscale_prior",)
    rebuilt = through_json(kernel)
    assert prior_names(rebuilt) == ()
    assert torch.equal(covariance(rebuilt), covariance(kernel.double()))


class Unusual(RBFKernel):
    """A subclass may compute anything."""


@pytest.mark.parametrize("kernel", [Unusual(), ScaleKernel(Unusual()), RBFKernel() + Unusual()])
def test_other_classes_are_refused_with_a_way_out(kernel: Kernel) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"\.Unusual\. Supported are .*RBFKernel.*joblib.*load\(path, kernel"
    ):
        kernel_to_spec(kernel)


def test_batches_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"RBFKernel has batch shape \(2,\)"):
        kernel_to_spec(RBFKernel(batch_shape=torch.Size([2])))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    kernel: Any = RBFKernel()
    torch.nn.init.constant_(kernel.raw_lengthscale, value)
    with pytest.raises(InvalidParameterError, match=r"RBFKernel\.raw_lengthscale is \[\[(nan|inf)\]\]"):
        kernel_to_spec(kernel)


def tie(kernel: Any) -> None:
    kernel.kernels[0].raw_lengthscale = kernel.kernels[1].raw_lengthscale


def add_parameter(kernel: Any) -> None:
    kernel.kernels[0].register_parameter("extra", torch.nn.Parameter(torch.zeros(1)))


def replace_parameter(kernel: Any) -> None:
    kernel.kernels[0].raw_lengthscale = torch.nn.Parameter(torch.zeros(1, 5))


def remove_constraint(kernel: Any) -> None:
    kernel.kernels[0]._constraints.clear()


@pytest.mark.parametrize("change", [tie, add_parameter, replace_parameter, remove_constraint])
def test_kernels_changed_by_hand_are_refused(change: Callable[[Kernel], None]) -> None:
    kernel = RBFKernel() + RBFKernel()
    change(kernel)
    with pytest.raises(InvalidParameterError, match="was changed after it was built"):
        kernel_to_spec(kernel)


def test_a_custom_kernel_must_be_given() -> None:
    with pytest.raises(InvalidParameterError, match=r"the kernel mine\.Special, .*: load\(path, kernel=\.\.\.\)"):
        kernel_from_spec({"custom": True, "class": "mine.Special"})


def test_an_unknown_class_is_named() -> None:
    spec = {**kernel_to_spec(RBFKernel()), "class": "os.system"}
    with pytest.raises(ModelFileError, match=r"the kernel 'os\.system', which this version cannot rebuild"):
        kernel_from_spec(spec)


@pytest.mark.parametrize(
    "damage",
    [
        {"settings": {"ard_num_dims": 2}},
        {"settings": {"ard_num_dims": "many"}},
        {"settings": None},
        {"active_dims": "x"},
        {"parameters": {}},
        {"parameters": {"raw_other": {"values": 1.0, "trainable": True, "constraint": None}}},
        {"parameters": {"raw_lengthscale": {"values": [["a"]]}}},
        {"parameters": {"raw_lengthscale": {"values": [[1.0]], "trainable": True, "constraint": None}}},
        {"children": [{"same_as": "kernel"}]},
        {"children": 3},
    ],
)
def test_malformed_specifications_are_model_file_errors(damage: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError):
        kernel_from_spec({**kernel_to_spec(RBFKernel()), **damage})


def test_settings_beyond_the_table_reach_no_constructor() -> None:
    spec = kernel_to_spec(RBFKernel())
    spec["settings"]["lengthscale_prior"] = "anything"
    assert_same_kernel(kernel_from_spec(spec), RBFKernel().double())
