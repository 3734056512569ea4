"""What is predicted: a committee at the rows of an array, chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpcommittee.aggregation import Aggregate
from gpcommittee.data import standardise_inputs
from gpcommittee.experts import Committee
from gpcommittee.records import FloatArray, IntArray, Standardisation

StandardMoments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Mean, latent variance, dispersion and relative noise in standardised units, each of shape (n_points,)."""

FARTHEST = 0.4
"""Power of the largest number of the precision: 1e15 standard deviations in float32, where all kernels are at rest."""


def empty_moments(n_points: int) -> StandardMoments:
    """Arrays to be filled."""
    return np.empty(n_points), np.empty(n_points), np.empty(n_points), np.empty(n_points)


def write_moments(output: StandardMoments, rows: slice, aggregate: Aggregate) -> None:
    """Fill in what a rule says of some rows."""
    parts = aggregate.mean, aggregate.var_latent, aggregate.dispersion, aggregate.relative_noise
    for whole, part in zip(output, parts, strict=True):
        whole[rows] = part.double().cpu().numpy()


@dataclass(frozen=True)
class Request:
    """Test points for a committee.

    Attributes
    ----------
    committee : Committee
    scaling : Standardisation
    X : ndarray, shape (n_points, n_features)
        In original units, of any real type and layout.
    """

    committee: Committee
    scaling: Standardisation
    X: NDArray[Any]

    def chunks(self, size: int) -> list[slice]:
        """Slices of ``size`` rows that cover all, the last one shorter."""
        return [slice(start, min(start + size, len(self.X))) for start in range(0, len(self.X), size)]

    def points(self, chunk: slice | IntArray) -> Tensor:
        """Standardised test points of a chunk, moved to ``FARTHEST`` from beyond, so that distances are finite."""
        standardised = standardise_inputs(self.X[chunk], self.scaling)
        limit = torch.finfo(self.committee.kernel.dtype).max ** FARTHEST
        return self.committee.kernel.tensor(standardised.clip(-limit, limit))
