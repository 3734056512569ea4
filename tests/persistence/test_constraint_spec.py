from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from gpytorch.constraints import GreaterThan, Interval, LessThan, Positive
from gpytorch.utils.transforms import inv_sigmoid, inv_softplus
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gpcommittee.errors import InvalidParameterError
from gpcommittee.persistence.constraint_spec import (
    constraint_from_spec,
    constraint_to_spec,
    tensor_from_lists,
    tensor_to_lists,
)

EXP: dict[str, Any] = {"transform": torch.exp, "inv_transform": torch.log}
FUNCTIONAL: dict[str, Any] = {"transform": torch.nn.functional.softplus, "inv_transform": inv_softplus}
SIGMOID: dict[str, Any] = {"transform": torch.sigmoid, "inv_transform": inv_sigmoid}
CONSTRAINTS: dict[str, Callable[[], Interval]] = {
    "positive": lambda: Positive(),
    "positive, exp": lambda: Positive(**EXP),
    "positive, functional softplus": lambda: Positive(**FUNCTIONAL),
    "positive, none": lambda: Positive(transform=None, inv_transform=None),
    "greater": lambda: GreaterThan(1e-4),
    "greater, exp": lambda: GreaterThan(0.1, **EXP),
    "greater, exp with GPyTorch's inverse": lambda: GreaterThan(0.1, transform=torch.exp, inv_transform=None),
    "less": lambda: LessThan(0.3),
    "interval": lambda: Interval(0.1, 0.7),
    "interval, given": lambda: Interval(0.1, 0.7, **SIGMOID),
    "interval, none": lambda: Interval(0.1, 0.7, transform=None),
    "interval, one bound per input": lambda: Interval(torch.tensor([0.1, 0.2]), torch.tensor([0.3, 7.0])),
    "initial value": lambda: GreaterThan(1e-4, initial_value=0.5),
}


def through_json(constraint: Interval) -> Interval:
    return constraint_from_spec(json.loads(json.dumps(constraint_to_spec(constraint, "raw_x"), allow_nan=False)))


def assert_same(found: Interval, expected: Interval) -> None:
    assert type(found) is type(expected)
    raw = torch.linspace(-3, 3, 2, dtype=torch.float64)
    for bound in ("lower_bound", "upper_bound"):
        assert getattr(found, bound).dtype == torch.float64
        assert torch.equal(getattr(found, bound), getattr(expected, bound))
    natural: Tensor = expected.transform(raw)
    assert torch.equal(found.transform(raw), natural)
    assert torch.equal(found.inverse_transform(natural), expected.inverse_transform(natural))


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_float32_bounds_survive_as_double_makes_them(name: str) -> None:
    assert_same(through_json(CONSTRAINTS[name]()), CONSTRAINTS[name]().double())


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_copies_are_described_the_same(name: str) -> None:
    constraint = CONSTRAINTS[name]()
    assert constraint_to_spec(deepcopy(constraint), "raw_x") == constraint_to_spec(constraint, "raw_x")


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_float64_bounds_survive_bit_for_bit(lower: float, width: float) -> None:
    constraint = Interval(0.0, 1.0).double()
    constraint.lower_bound = torch.tensor(lower, dtype=torch.float64)
    constraint.upper_bound = torch.tensor(lower + width, dtype=torch.float64)
    assert_same(through_json(constraint), constraint)


def test_an_interval_narrower_than_float32_can_tell_is_rebuilt() -> None:
    constraint = Interval(0.0, 1.0).double()
    constraint.lower_bound = torch.tensor(1.0, dtype=torch.float64)
    constraint.upper_bound = torch.tensor(1.0 + 1e-12, dtype=torch.float64)
    assert_same(through_json(constraint), constraint)


def test_classes_of_ones_own_are_refused() -> None:
    Odd: Any = type("Odd", (Positive,), {})
    with pytest.raises(InvalidParameterError, match=r"raw_x has a constraint of class Odd, .* Supported are"):
        constraint_to_spec(Odd(), "raw_x")


def square(x: Tensor) -> Tensor:
    return x**2


@pytest.mark.parametrize(
    ("transform", "inverse"),
    [(square, torch.sqrt), (torch.exp, inv_softplus), (torch.nn.Softplus(beta=2.0), inv_softplus)],
)
def test_other_transforms_are_refused(transform: Any, inverse: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"transform .*, which a model file cannot describe"):
        constraint_to_spec(Positive(transform=transform, inv_transform=inverse), "raw_x")


@pytest.mark.parametrize(
    ("constraint", "bound"),
    [(Positive(), "lower_bound"), (GreaterThan(0.1), "upper_bound"), (LessThan(0.1), "lower_bound")],
)
def test_bounds_that_the_class_does_not_have_are_refused(constraint: Interval, bound: str) -> None:
    changed = deepcopy(constraint)
    setattr(changed, bound, torch.tensor(0.05))
    with pytest.raises(InvalidParameterError, match=rf"constraint with {bound} 0\.05.*, where its class has"):
        constraint_to_spec(changed, "raw_x")


def test_infinite_bounds_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="raw_x's lower_bound is -inf"):
        constraint_to_spec(GreaterThan(-float("inf")), "raw_x")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 4), (2, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_keep_shape_and_value(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    tensor = torch.rand(shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    found = tensor_from_lists(json.loads(json.dumps(tensor_to_lists(tensor, "x"))))
    assert found.shape == tensor.shape
    assert torch.equal(found, tensor.double())
