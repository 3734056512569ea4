"""Cholesky factorisation with the package's one jitter ladder, and the triangular solves built on it."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.scratch import Scratch

LADDER = (1e1, 1e3, 1e5, 1e7, 1e9)
"""Jitter steps in units of machine epsilon times the scale of the matrix."""

GRAM_PANELS = 4
"""Panels of a product with its own transpose, of which those above the diagonal are left out."""

SMALLEST_PIVOT = 1e3
"""In float32, pivots below this many roundings of the scale are not trusted, nor is jitter: float64 is the remedy."""


def cholesky(
    matrix: Tensor, what: str = "covariance matrix", scale: float | None = None, scratch: Scratch | None = None
) -> tuple[Tensor, float]:
    """Lower Cholesky factor of a symmetric matrix, with as little jitter as it takes.

    Parameters
    ----------
    matrix : Tensor, shape (m, m)
        Only the lower triangle is read.
    what : str
        Names the matrix in the error message.
    scale : float, optional
        Size of the numbers whose rounding errors the jitter makes up for. Default: the mean of the diagonal; a matrix
        that is a small difference of large ones has the scale of those.
    scratch : Scratch, optional
        May hold the factor.

    Returns
    -------
    factor : Tensor, shape (m, m)
    jitter : float
        What was added to the diagonal, as a share of ``scale``; 0 where the matrix was sound.

    Raises
    ------
    NotPositiveDefiniteError
        If the matrix holds NaN or infinity, or no allowed jitter makes it positive definite; in float32, which gets no
        jitter, also if its smallest pivot may be a rounding error.
    """
    factor, info = _factorise(matrix, scratch)
    if info == 0 and bool(torch.isfinite(factor.diagonal()).all()) and _trusted(factor, matrix, scale):
        return factor, 0.0
    if not bool(torch.isfinite(matrix).all()):
        raise NotPositiveDefiniteError(
            f"The {what} of {len(matrix)} rows holds NaN or infinity; look for extreme hyperparameters or inputs."
        )
    if matrix.dtype == torch.float32:
        raise NotPositiveDefiniteError(
            f"The {what} of {len(matrix)} rows is too close to singular for float32; use dtype='float64'."
        )
    unit = _scale(matrix, scale)
    for jitter in (step * torch.finfo(matrix.dtype).eps for step in LADDER):
        factor, info = torch.linalg.cholesky_ex(_add_to_diagonal(matrix, jitter * unit))
        if info == 0:
            return factor, jitter
    raise NotPositiveDefiniteError(
        f"The {what} of {len(matrix)} rows is not positive definite, even with jitter of {jitter * unit:.1e} on its "
        "diagonal; raise the noise variance, or check that the kernel is valid."
    )


def cholesky_of_each(matrices: Tensor, scales: Tensor, scratch: Scratch | None = None) -> tuple[Tensor, Tensor]:
    """Lower Cholesky factors of a batch of symmetric matrices, without jitter.

    Parameters
    ----------
    matrices : Tensor, shape (b, m, m)
        Only lower triangles are read.
    scales : Tensor, shape (b,)
        Size of the numbers whose rounding errors are in each matrix.
    scratch : Scratch, optional
        May hold the factors.

    Returns
    -------
    factors : Tensor, shape (b, m, m)
    sound : Tensor of bool, shape (b,)
        Where ``cholesky`` would return the same factor with no jitter; it has the remedies for the others.
    """
    factors, info = _factorise(matrices, scratch)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    sound = (info == 0) & torch.isfinite(diagonal).all(dim=-1)
    if factors.dtype != torch.float64:
        smallest = SMALLEST_PIVOT * torch.finfo(factors.dtype).eps * scales
        sound &= diagonal.amin(dim=-1).square() >= smallest
    return factors, sound


def inverse_from_cholesky(factor: Tensor, scratch: Scratch) -> Tensor:
    """Inverse of the matrix with this lower Cholesky factor, shape (..., m, m); may overwrite the factor.

    For a batch by products in scratch memory, which graphics processors do at once; LAPACK's way would be taken matrix
    by matrix there.
    """
    if factor.ndim > 2:
        inverse_factor = scratch.take("inverse factor", factor.shape, factor).zero_()
        inverse_factor.diagonal(dim1=-2, dim2=-1).fill_(1.0)
        torch.linalg.solve_triangular(factor, inverse_factor, upper=False, out=inverse_factor)
        return torch.matmul(inverse_factor.mT, inverse_factor, out=scratch.take("inverse", factor.shape, factor))
    inverse: Tensor = torch.cholesky_inverse(factor, out=factor)
    return inverse.mT


def solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    """``factor^-1 right`` for a lower triangular factor; ``right`` has shape (..., m)."""
    solution: Tensor = torch.linalg.solve_triangular(factor, right[..., None], upper=False)
    return solution[..., 0]


def solve_lower_transposed(factor: Tensor, right: Tensor) -> Tensor:
    """``factor^-T right`` for a lower triangular factor; ``right`` has shape (..., m)."""
    solution: Tensor = torch.linalg.solve_triangular(factor.mT, right[..., None], upper=True)
    return solution[..., 0]


def times_vector(matrix: Tensor, vector: Tensor) -> Tensor:
    """``matrix vector``, shape (..., k), for shapes (..., k, m) and (..., m)."""
    return matrix @ vector if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0]


def subtract_product(matrix: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``matrix - left right`` in place; leading dimensions of ``left`` may be missing."""
    if matrix.ndim == 2:
        return matrix.addmm_(left, right, alpha=-1.0)
    return matrix.baddbmm_(left.expand(*matrix.shape[:-1], -1), right, alpha=-1.0)


def whiten_rows(factor: Tensor, rows: Tensor) -> Tensor:
    """``factor^-1 rows'``, transposed, for a lower triangular factor: shape (..., k, m), in the memory of ``rows``.

    Rows are test points: the solver works along them in place, where columns would be copied there and back, a quarter
    of its time.
    """
    whitened: Tensor = torch.linalg.solve_triangular(factor.mT, rows, upper=True, left=False, out=rows)
    return whitened


def unwhiten_rows(factor: Tensor, rows: Tensor, out: Tensor | None = None) -> Tensor:
    """``factor^-T rows'``, transposed, for a lower triangular factor: shape (k, m); ``out`` may be ``rows``."""
    solution: Tensor = torch.linalg.solve_triangular(factor, rows, upper=False, left=False, out=out)
    return solution


def subtract_gram(matrix: Tensor, rows: Tensor) -> Tensor:
    """``matrix - rows rows'`` in place, its lower triangle alone valid, panel by panel: 5/8 of the full product.

    A batch takes the full product, at once.

    Parameters
    ----------
    matrix : Tensor, shape (..., m, m)
    rows : Tensor, shape (..., m, k)

    Returns
    -------
    Tensor, shape (..., m, m)
        The matrix given.
    """
    if matrix.ndim > 2:
        return subtract_product(matrix, rows, rows.mT)
    size = -(-len(rows) // GRAM_PANELS)
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        matrix[start:stop, :stop].addmm_(rows[start:stop], rows[:stop].mT, alpha=-1.0)
    return matrix


def lower_product(left: Tensor, right: Tensor) -> Tensor:
    """Product of two matrices that is symmetric, its lower triangle alone valid, panel by panel: 5/8 of the whole.

    Parameters
    ----------
    left : Tensor, shape (m, k)
    right : Tensor, shape (k, m)

    Returns
    -------
    Tensor, shape (m, m)
        In memory of its own.
    """
    product = left.new_zeros(len(left), len(left))
    size = -(-len(left) // GRAM_PANELS)
    for start in range(0, len(left), size):
        stop = min(start + size, len(left))
        torch.mm(left[start:stop], right[:, :stop], out=product[start:stop, :stop])
    return product


def row_sums_of_squares(matrix: Tensor) -> Tensor:
    """Squared norm of each row, shape (..., k)."""
    sums: Tensor = torch.linalg.vecdot(matrix, matrix)
    return sums


def _factorise(matrix: Tensor, scratch: Scratch | None) -> tuple[Tensor, Tensor]:
    if scratch is None:
        factor, info = torch.linalg.cholesky_ex(matrix)
        return factor, info
    factor = scratch.take("factor", matrix.shape, matrix).mT
    info = torch.empty(matrix.shape[:-2], dtype=torch.int32, device=matrix.device)
    torch.linalg.cholesky_ex(matrix, out=(factor, info))
    return factor, info


def _trusted(factor: Tensor, matrix: Tensor, scale: float | None) -> bool:
    if factor.dtype == torch.float64:
        return True
    smallest = SMALLEST_PIVOT * torch.finfo(factor.dtype).eps * _scale(matrix, scale)
    return factor.diagonal().min().item() ** 2 >= smallest


def _scale(matrix: Tensor, given: float | None) -> float:
    return matrix.diagonal().mean().item() if given is None else given


def _add_to_diagonal(matrix: Tensor, amount: float) -> Tensor:
    shifted = matrix.clone()
    shifted.diagonal().add_(amount)
    return shifted
