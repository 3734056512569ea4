"""The systems compared: one module each with ``fit(X, y, seed, **settings)``, imported in the run's process alone.

Inputs and target are standardised; a fitted system predicts mean and variance of an observation in the same units.
"""

from __future__ import annotations

from typing import Protocol

from numpy import float64
from numpy.typing import NDArray

Vector = NDArray[float64]
CHUNK = 5_000
"""Test rows that systems without a chunking of their own predict at a time."""


class Fitted(Protocol):
    """What a system becomes by fitting."""

    def predict(self, X: Vector) -> tuple[Vector, Vector]:
        """Mean and variance of an observation."""
        ...

    def learned(self) -> dict[str, object]:
        """What was learned, ready for JSON."""
        ...
