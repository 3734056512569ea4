from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from gpcommittee.errors import InvalidInputError
from gpcommittee.metrics import mae, rmse, smse

generator = np.random.default_rng(0)
y_true = generator.normal(3.0, 2.0, 50)
mean = y_true + generator.normal(0.0, 0.5, 50)


def test_against_scikit_learn() -> None:
    assert rmse(y_true, mean) == pytest.approx(root_mean_squared_error(y_true, mean), rel=1e-14)
    assert mae(y_true, mean) == pytest.approx(mean_absolute_error(y_true, mean), rel=1e-14)
    assert smse(y_true, mean) == pytest.approx(1.0 - r2_score(y_true, mean), rel=1e-12)


def test_predicting_the_test_mean_scores_one() -> None:
    assert smse(y_true, np.full(50, y_true.mean())) == pytest.approx(1.0, rel=1e-14)
    assert smse(y_true, y_true) == 0.0


@pytest.mark.parametrize(("factor", "offset"), [(1e12, 0.0), (1e-12, 0.0), (-2.0, 1e9), (1e200, 0.0), (1e-200, 0.0)])
def test_smse_has_no_units(factor: float, offset: float) -> None:
    scaled = smse(factor * y_true + offset, factor * mean + offset)
    assert scaled == pytest.approx(smse(y_true, mean), rel=1e-6)


@given(st.permutations(range(50)))
def test_order_does_not_matter(order: list[int]) -> None:
    assert smse(y_true[order], mean[order]) == pytest.approx(smse(y_true, mean), rel=1e-12)


def test_smse_refuses_constant_targets() -> None:
    with pytest.raises(InvalidInputError, match=r"all 3 test targets equal 2\.0.*Use rmse"):
        smse([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("metric", [rmse, mae, smse])
@pytest.mark.parametrize(
    ("observed", "predicted", "message"),
    [
        ([1.0, 2.0], [1.0], "y_true has 2, mean has 1"),
        ([], [], "y_true is empty"),
        ([[1.0], [2.0]], [1.0, 2.0], r"y_true has shape \(2, 1\).*ravel"),
        ([1.0, 2.0], [1.0, np.nan], "mean contains NaN or infinity in 1 of 2 places, first at index 1"),
        ([np.inf, 2.0], [1.0, 2.0], "y_true contains NaN or infinity"),
        ([1j, 2.0], [1.0, 2.0], "y_true has dtype complex128"),
        (["a", "b"], [1.0, 2.0], "y_true has dtype <U1"),
    ],
)
def test_refusals(metric: Callable[..., float], observed: list[float], predicted: list[float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        metric(observed, predicted)


def test_integers_and_float32_are_numbers() -> None:
    assert rmse(np.array([1, 2]), np.array([1.0, 4.0], dtype=np.float32)) == pytest.approx(np.sqrt(2.0))
