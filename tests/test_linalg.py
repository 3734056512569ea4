from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.linalg import (
    cholesky,
    cholesky_of_each,
    inverse_from_cholesky,
    lower_product,
    row_sums_of_squares,
    solve_lower,
    solve_lower_transposed,
    subtract_gram,
    subtract_product,
    times_vector,
    unwhiten_rows,
    whiten_rows,
)
from gpcommittee.scratch import Scratch


def spd(n: int, seed: int = 0) -> torch.Tensor:
    root = torch.from_numpy(np.random.default_rng(seed).standard_normal((n, n)))
    return root @ root.T + n * torch.eye(n, dtype=torch.float64)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_sound_matrix_is_factored_without_jitter(n: int) -> None:
    matrix = spd(n)
    before = matrix.clone()
    factor, jitter = cholesky(matrix)
    assert jitter == 0
    torch.testing.assert_close(factor @ factor.T, matrix, rtol=1e-13, atol=0)
    assert torch.equal(matrix, before)


def test_singular_matrix_gets_the_least_jitter_that_works() -> None:
    ones = torch.ones(30, 30, dtype=torch.float64)
    before = ones.clone()
    factor, jitter = cholesky(ones)
    assert 0 < jitter <= 1e5 * torch.finfo(torch.float64).eps
    torch.testing.assert_close(factor @ factor.T, ones, rtol=0, atol=2 * jitter)
    assert torch.equal(ones, before)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-5])
def test_float32_refuses_what_it_cannot_tell_from_singular(noise: float) -> None:
    with pytest.raises(NotPositiveDefiniteError, match=r"gram of 30 rows is too close to singular.*'float64'"):
        cholesky(torch.ones(30, 30) + noise * torch.eye(30), "gram")
    factor, jitter = cholesky(torch.ones(30, 30) + 1e-2 * torch.eye(30))
    assert jitter == 0
    torch.testing.assert_close(factor @ factor.T, torch.ones(30, 30) + 1e-2 * torch.eye(30))


def test_jitter_scales_with_the_matrix() -> None:
    _, small = cholesky(1e-6 * torch.ones(30, 30, dtype=torch.float64))
    _, large = cholesky(1e6 * torch.ones(30, 30, dtype=torch.float64))
    assert small == large


def test_indefinite_matrix_is_refused() -> None:
    with pytest.raises(NotPositiveDefiniteError, match=r"gram of 3 rows is not positive definite.*noise variance"):
        cholesky(-torch.eye(3, dtype=torch.float64), "gram")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_told_from_indefinite(value: float) -> None:
    matrix = torch.eye(3, dtype=torch.float64)
    matrix[1, 1] = value
    with pytest.raises(NotPositiveDefiniteError, match="NaN or infinity"):
        cholesky(matrix)


def test_solves_invert_the_factor() -> None:
    factor, _ = cholesky(spd(9))
    right = torch.from_numpy(np.random.default_rng(1).standard_normal((9, 4)))
    torch.testing.assert_close(factor @ solve_lower(factor, right[:, 0]), right[:, 0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(
        factor.T @ solve_lower_transposed(factor, right[:, 0]), right[:, 0], rtol=1e-12, atol=1e-12
    )


def test_rows_are_whitened_and_back() -> None:
    factor, _ = cholesky(spd(9))
    rows = torch.from_numpy(np.random.default_rng(1).standard_normal((4, 9)))
    whitened = whiten_rows(factor, rows.clone())
    torch.testing.assert_close(whitened @ factor.mT, rows, rtol=1e-12, atol=1e-12)
    unwhitened = unwhiten_rows(factor, whitened)
    torch.testing.assert_close(unwhitened @ (factor @ factor.mT), rows, rtol=1e-12, atol=1e-12)
    assert unwhiten_rows(factor, whitened, out=whitened) is whitened
    torch.testing.assert_close(whitened, unwhitened, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 9, 50])
def test_gram_is_subtracted_from_the_lower_triangle(m: int) -> None:
    rng = np.random.default_rng(m)
    matrix, rows = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((m, m), (m, 7)))
    expected = (matrix - rows @ rows.mT).tril()
    assert subtract_gram(matrix, rows) is matrix
    torch.testing.assert_close(matrix.tril(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 9, 50])
def test_a_product_is_computed_in_its_lower_triangle(m: int) -> None:
    left = torch.from_numpy(np.random.default_rng(m).standard_normal((m, 7)))
    right = spd(7) @ left.mT
    torch.testing.assert_close(lower_product(left, right).tril(), (left @ right).tril(), rtol=1e-12, atol=1e-12)


def test_row_sums_of_squares() -> None:
    matrix = torch.tensor([[1.0, 2.0], [3.0, -4.0]], dtype=torch.float64)
    assert row_sums_of_squares(matrix).tolist() == [5.0, 25.0]


@pytest.mark.parametrize("n", [1, 3, 40])
def test_a_batch_is_each_of_its_matrices(n: int, device: torch.device) -> None:
    matrices = torch.stack([spd(n, seed) for seed in range(3)]).to(device)
    rows = torch.randn(3, 5, n, dtype=torch.float64, device=device)
    factors, sound = cholesky_of_each(matrices, matrices.new_ones(3), Scratch())
    assert sound.all()
    assert_close = partial(torch.testing.assert_close, rtol=1e-11, atol=1e-13)
    for i, matrix in enumerate(matrices):
        factor, _ = cholesky(matrix)
        assert_close(factors[i], factor)
        inverse = inverse_from_cholesky(factor.clone(), Scratch())
        assert_close(inverse_from_cholesky(factors.clone(), Scratch())[i], inverse)
        assert_close(solve_lower(factors, rows[:, 0])[i], solve_lower(factor, rows[i, 0]))
        assert_close(whiten_rows(factors, rows.clone())[i], whiten_rows(factor, rows[i].clone()))
        gram = subtract_gram(matrix.clone(), rows[i].mT).tril()
        assert_close(subtract_gram(matrices.clone(), rows.mT)[i].tril(), gram)
        product = matrix - rows[0].mT @ rows[i]
        assert_close(subtract_product(matrices.clone(), rows[0].mT, rows)[i], product)
        assert_close(times_vector(matrices, rows[:, 1])[i], matrix @ rows[i, 1])


def test_a_matrix_that_fails_in_a_batch_is_named_and_leaves_the_others_alone(device: torch.device) -> None:
    nan = torch.full((4, 4), torch.nan, dtype=torch.float64)
    matrices = torch.stack([spd(4), -spd(4), nan, spd(4, 1)]).to(device)
    factors, sound = cholesky_of_each(matrices, matrices.new_ones(4))
    assert sound.tolist() == [True, False, False, True]
    torch.testing.assert_close(factors[3], cholesky(matrices[3])[0])


def test_float32_refuses_in_a_batch_what_it_refuses_alone(device: torch.device) -> None:
    eye = torch.eye(30, device=device)
    matrices = torch.stack([torch.ones_like(eye) + noise * eye for noise in (1e-2, 1e-5)])
    assert cholesky_of_each(matrices, matrices.new_ones(2))[1].tolist() == [True, False]
