from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.priors import GammaPrior
from torch import Tensor

from gpcommittee.errors import InvalidParameterError
from gpcommittee.persistence.custom_kernel import custom_kernel_spec, matches_custom_spec, restore_custom_kernel


class Warped(Kernel):
    """A kernel of one's own, with a parameter and fixed weights."""

    has_lengthscale = True
    weights: Tensor

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.register_buffer("weights", torch.tensor([1.0, 0.1]))

    def forward(
        self, x1: Tensor, x2: Tensor, diag: bool = False, last_dim_is_batch: bool = False, **params: Any
    ) -> Tensor:
        first, second = (x @ self.weights.unsqueeze(-1) / self.lengthscale for x in (x1, x2))
        return torch.exp(-self.covar_dist(first, second, square_dist=True, diag=diag))


class Renamed(Warped):
    """The same under another name."""


def kernel_with(base: Kernel | None = None, upper: float = 10.0) -> Kernel:
    return ScaleKernel(Warped(), outputscale_constraint=Interval(0.1, upper)) + (base or MaternKernel(nu=1.5))


def fitted() -> Kernel:
    kernel = kernel_with().double()
    with torch.no_grad():
        for i, parameter in enumerate(kernel.parameters()):
            parameter.fill_(0.1 * (i + 1))
    return kernel


def spec_of(kernel: Kernel) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(json.dumps(custom_kernel_spec(kernel), allow_nan=False, sort_keys=True))
    return spec


def covariance(kernel: Kernel) -> Tensor:
    X = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        dense: Tensor = kernel(X).to_dense()
    return dense


def test_the_class_is_named_in_full() -> None:
    spec = custom_kernel_spec(Warped())
    assert spec["custom"] is True
    assert spec["class"] == f"{Warped.__module__}.Warped"


def test_restoring_gives_the_fitted_kernel_bit_for_bit() -> None:
    restored = restore_custom_kernel(kernel_with(), spec_of(fitted()))
    assert torch.equal(covariance(restored), covariance(fitted()))
    assert all(parameter.dtype == torch.float64 for parameter in restored.parameters())


def test_restoring_leaves_the_given_kernel_alone() -> None:
    given = kernel_with()
    before = deepcopy(given.state_dict())
    restore_custom_kernel(given, spec_of(fitted()))
    assert all(torch.equal(value, before[name]) for name, value in given.state_dict().items())


def test_a_float32_and_a_float64_kernel_match() -> None:
    assert matches_custom_spec(kernel_with(), spec_of(fitted()))


def test_priors_do_not_matter() -> None:
    assert matches_custom_spec(
        kernel_with(MaternKernel(nu=1.5, lengthscale_prior=GammaPrior(3.0, 6.0))), spec_of(fitted())
    )


def other_weights() -> Any:
    kernel: Any = kernel_with()
    kernel.kernels[0].base_kernel.weights = torch.tensor([1.0, 0.2])
    return kernel


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: kernel_with(RBFKernel()), r"its kernels differ: kernels\.1 is {'class': 'RBFKernel'}, saved was"),
        (lambda: kernel_with(MaternKernel(nu=2.5)), r"its kernels differ: kernels\.1 is .*2\.5"),
        (lambda: RBFKernel(), "its kernels differ: the outermost is"),
        (lambda: kernel_with(Renamed()), r"its kernels differ: kernels\.1 is {'class': 'Renamed'}"),
        (lambda: kernel_with(upper=11.0), "its bounds and other fixed tensors differ: .*outputscale.*upper_bound"),
        (other_weights, r"its bounds and other fixed tensors differ: kernels\.0\.base_kernel\.weights"),
        (lambda: kernel_with(MaternKernel(nu=1.5, active_dims=(0,))), "active_dims is .*, saved was none"),
    ],
)
def test_another_structure_is_refused_with_the_difference(build: Callable[[], Kernel], part: str) -> None:
    spec = spec_of(fitted())
    assert not matches_custom_spec(build(), spec)
    with pytest.raises(InvalidParameterError, match=rf"does not match the one the model was saved with.*{part}"):
        restore_custom_kernel(build(), spec)


def test_another_parameter_shape_is_refused() -> None:
    spec = spec_of(Warped())
    with pytest.raises(
        InvalidParameterError, match=r"its parameters differ: raw_lengthscale is \(1, 2\), saved was \(1, 1\)"
    ):
        restore_custom_kernel(Warped(ard_num_dims=2), spec)


def test_a_class_defined_elsewhere_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(Warped())
    monkeypatch.setattr(Warped, "__module__", "__main__")
    assert matches_custom_spec(Warped(), spec)
