"""Cholesky factorisation with the package's one jitter ladder, and the triangular solves built on it."""

from __future__ import annotations

import torch
from torch import Tensor

from gpcommittee.errors import NotPositiveDefiniteError

LADDER = (1e1, 1e3, 1e5, 1e7, 1e9)
"""Jitter steps in units of machine epsilon times the scale of the matrix."""

LARGEST_JITTER = 1e-2
"""No step may add more than this share of the scale (it ends the ladder early in float32)."""


def cholesky(matrix: Tensor, what: str = "covariance matrix", scale: float | None = None) -> tuple[Tensor, float]:
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

    Returns
    -------
    factor : Tensor, shape (m, m)
    jitter : float
        What was added to the diagonal, as a share of ``scale``; 0 where the matrix was sound.

    Raises
    ------
    NotPositiveDefiniteError
        If the matrix holds NaN or infinity, or no allowed jitter makes it positive definite.
    """
    factor, info = torch.linalg.cholesky_ex(matrix)
    if info == 0 and bool(torch.isfinite(factor.diagonal()).all()):
        return factor, 0.0
    if not bool(torch.isfinite(matrix).all()):
        raise NotPositiveDefiniteError(
            f"The {what} of {len(matrix)} rows holds NaN or infinity; look for extreme hyperparameters or inputs."
        )
    unit = matrix.diagonal().mean().item() if scale is None else scale
    for jitter in _ladder(matrix.dtype):
        factor, info = torch.linalg.cholesky_ex(_add_to_diagonal(matrix, jitter * unit))
        if info == 0:
            return factor, jitter
    raise NotPositiveDefiniteError(
        f"The {what} of {len(matrix)} rows is not positive definite, even with jitter of {jitter * unit:.1e} on its "
        "diagonal; raise the noise variance, use dtype='float64', or check that the kernel is valid."
    )


def solve_lower(factor: Tensor, right: Tensor) -> Tensor:
    """``factor^-1 right`` for a lower triangular factor; ``right`` has shape (m,) or (m, k)."""
    if right.ndim == 1:
        return solve_lower(factor, right[:, None])[:, 0]
    solution: Tensor = torch.linalg.solve_triangular(factor, right, upper=False)
    return solution


def solve_lower_transposed(factor: Tensor, right: Tensor) -> Tensor:
    """``factor^-T right`` for a lower triangular factor; ``right`` has shape (m,)."""
    solution: Tensor = torch.linalg.solve_triangular(factor.mT, right[:, None], upper=True)
    return solution[:, 0]


def column_sums_of_squares(matrix: Tensor) -> Tensor:
    """Squared norm of each column, shape (k,)."""
    return matrix.square().sum(dim=0)


def _ladder(dtype: torch.dtype) -> list[float]:
    steps = [step * torch.finfo(dtype).eps for step in LADDER]
    return [step for step in steps if step <= LARGEST_JITTER]


def _add_to_diagonal(matrix: Tensor, amount: float) -> Tensor:
    shifted = matrix.clone()
    shifted.diagonal().add_(amount)
    return shifted
