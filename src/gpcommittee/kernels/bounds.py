"""Where a kernel's parameters are searched, given the constraints they carry."""

from __future__ import annotations

import numpy as np
import torch
from gpytorch.constraints import Interval
from torch import Tensor

from gpcommittee.records import FloatArray

SEARCH_RANGE = (1e-5, 1e5)
"""Distance from a one-sided constraint within which a parameter is searched; 1 is the scale of standardised data."""

INTERVAL_MARGIN = 1e-6
"""Share of a two-sided constraint's width that the search leaves out at each end, where its transform saturates; never
more than the nearer end of ``SEARCH_RANGE``."""


def search_bounds(constraint: Interval | None, shape: torch.Size) -> tuple[FloatArray, FloatArray]:
    """Bounds in unconstrained space, element by element, infinite where there is none.

    Parameters
    ----------
    constraint : gpytorch.constraints.Interval or None
    shape : torch.Size
        Of the parameter.

    Returns
    -------
    lower, upper : ndarray, shape (shape.numel(),)
    """
    if constraint is None:
        return np.full(shape.numel(), -np.inf), np.full(shape.numel(), np.inf)
    lower, upper = (bound.double().expand(shape) for bound in (constraint.lower_bound, constraint.upper_bound))
    low, high = _natural(lower, upper)
    raw = torch.stack([constraint.inverse_transform(low), constraint.inverse_transform(high)])
    bounded = torch.isfinite(lower) | torch.isfinite(upper)
    return (
        torch.where(bounded, raw.amin(dim=0), -np.inf).cpu().numpy().ravel(),
        torch.where(bounded, raw.amax(dim=0), np.inf).cpu().numpy().ravel(),
    )


def _natural(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds in natural units."""
    near, far = SEARCH_RANGE
    two_sided = torch.isfinite(lower) & torch.isfinite(upper)
    margin = torch.where(two_sided, (INTERVAL_MARGIN * (upper - lower)).clamp_max(near), near)
    low = torch.where(torch.isfinite(lower), lower + margin, upper - far)
    high = torch.where(torch.isfinite(upper), upper - margin, lower + far)
    return low, high
