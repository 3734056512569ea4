"""Dispersion of an expert: how large its errors are, in units of what it says of them.

Leave-one-out residuals of the exact GP, from one factor, without another fit (Rasmussen and Williams, 2006,
Eqs. 5.10 to 5.12): with A = L L', w = L^-1 y and a = A^-1 y = L^-T w, row j is predicted by the others with the
standardised error z_j = a_j / sqrt([A^-1]_jj). In an augmented expert A is the residual covariance S and y the residual
target, so that the communication rows are known to every prediction.
"""

from __future__ import annotations

import torch

from gpcommittee.experts.augmented import AugmentedFactor
from gpcommittee.experts.base import BaseFactor
from gpcommittee.linalg import solve_lower_transposed

PRIOR_ROWS = 10.0
"""Rows with errors as large as the model says that are counted beside an expert's own: the mean square of a few
errors is mostly chance, and an expert without error would otherwise be infinitely sure."""


def dispersion(factor: BaseFactor | AugmentedFactor) -> float:
    """Mean squared standardised leave-one-out residual of an expert: 1 where the data are as the model says.

    Parameters
    ----------
    factor : BaseFactor or AugmentedFactor
        Of m rows.

    Returns
    -------
    float
        Above 0; drawn towards 1 as by ``PRIOR_ROWS`` more rows.

    References
    ----------
    Rasmussen and Williams (2006), "Gaussian processes for machine learning", section 5.4.2.
    """
    inverse_diagonal = torch.cholesky_inverse(factor.lower).diagonal()
    squares = solve_lower_transposed(factor.lower, factor.weights).double().square() / inverse_diagonal.double()
    return (float(squares.sum()) + PRIOR_ROWS) / (len(squares) + PRIOR_ROWS)
