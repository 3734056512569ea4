"""Sums that do not depend on the order or the grouping of their terms: exact, and rounded once.

A sum of floats is kept as a few floats whose digits do not overlap and whose exact sum it is (Shewchuk 1997). So the
same terms give the same number to the last bit whether they are summed one after another, by several workers or in
parts of any size.

References
----------
Shewchuk (1997), "Adaptive precision floating-point arithmetic and fast robust geometric predicates", Discrete and
Computational Geometry 18(3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ExactSum:
    """A sum of vectors, not rounded yet.

    Attributes
    ----------
    parts : tuple of tuple of float
        For each component, floats whose exact sum it is; one that is not finite where a term is not.
    """

    parts: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, terms: Sequence[FloatArray]) -> ExactSum:
        """The sum of vectors of one length, at least one vector.

        Parameters
        ----------
        terms : sequence of ndarray, each of shape (k,)

        Returns
        -------
        ExactSum
        """
        return cls(tuple(_exact(column.tolist()) for column in np.stack(terms, axis=1)))

    @classmethod
    def together(cls, sums: Sequence[ExactSum]) -> ExactSum:
        """The sum of sums of one length, at least one.

        Parameters
        ----------
        sums : sequence of ExactSum

        Returns
        -------
        ExactSum
        """
        components = zip(*(one.parts for one in sums), strict=True)
        return cls(tuple(_exact([part for parts in component for part in parts]) for component in components))

    def rounded(self) -> FloatArray:
        """The sum, correctly rounded.

        Returns
        -------
        ndarray, shape (k,)

        Examples
        --------
        >>> import numpy as np
        >>> terms = [np.array([1e16]), np.array([1.0]), np.array([-1e16])]
        >>> float(sum(terms)[0]), float(ExactSum.of(terms).rounded()[0])
        (0.0, 1.0)
        """
        return np.array([math.fsum(parts) for parts in self.parts])


def _exact(values: Iterable[float]) -> tuple[float, ...]:
    """Floats of the same exact sum that do not overlap, by two-sums."""
    found: list[float] = []
    for value in values:
        if not math.isfinite(value):
            return (value,)
        kept = 0
        for other in found:
            large, small = (value, other) if abs(value) >= abs(other) else (other, value)
            value = large + small
            if lost := small - (value - large):
                found[kept] = lost
                kept += 1
        found[kept:] = [value]
    return tuple(found)
