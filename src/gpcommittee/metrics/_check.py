"""Input checks shared by the metrics."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpcommittee.errors import InvalidInputError, InvalidParameterError
from gpcommittee.records import FloatArray


def as_vectors(**named: ArrayLike) -> tuple[FloatArray, ...]:
    """Finite float64 vectors of one common, non-zero length."""
    vectors = {name: _as_vector(name, values) for name, values in named.items()}
    lengths = {name: len(vector) for name, vector in vectors.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidInputError(f"One value per test point is needed in every array, but {found}.")
    return tuple(vectors.values())


def _as_vector(name: str, values: ArrayLike) -> FloatArray:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InvalidInputError(f"{name} has masked values. Remove these test points from every array.")
    array: np.ndarray[Any, Any] = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} has dtype {array.dtype}; a metric needs real numbers.")
    if array.ndim != 1:
        raise InvalidInputError(f"{name} has shape {array.shape}; it must be (n_points,). Try {name}.ravel().")
    if len(array) == 0:
        raise InvalidInputError(f"{name} is empty; a metric needs at least one test point.")
    vector = array.astype(np.float64, copy=False)
    unusable = np.flatnonzero(~np.isfinite(vector))
    if unusable.size:
        raise InvalidInputError(
            f"{name} contains NaN or infinity in {unusable.size} of {len(vector)} places, first at index "
            f"{unusable[0]}. Remove these test points from every array."
        )
    return vector


def check_positive(name: str, values: FloatArray) -> None:
    """Refuse zero and negative variances or standard deviations."""
    wrong = np.flatnonzero(values <= 0.0)
    if wrong.size:
        raise InvalidInputError(
            f"{name} must be positive, but {wrong.size} of {len(values)} values are not; the first is "
            f"{values[wrong[0]]} at index {wrong[0]}. Score the uncertainty of an observation, noise included."
        )


def check_level(level: float) -> None:
    """Refuse an interval level that is not a number in (0, 1)."""
    if not isinstance(level, Real) or not 0.0 < float(level) < 1.0:
        raise InvalidParameterError(f"level must lie strictly between 0 and 1, got {level!r}; 0.95 is usual.")
