"""Training rows, standardised when they are asked for: all of them are copied no more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.data._blocks import row_blocks
from gpcommittee.data.scaling import standardise_inputs
from gpcommittee.records import FloatArray, IntArray, Standardisation


@dataclass(frozen=True)
class Rows:
    """Inputs as they were given, and the standardised target.

    Attributes
    ----------
    X : ndarray, shape (n_rows, n_features)
        Finite numbers of any real type, in any layout, memory maps included.
    y : ndarray, shape (n_rows,)
        Standardised.
    scaling : Standardisation
        Of the inputs.
    """

    X: NDArray[Any]
    y: FloatArray
    scaling: Standardisation

    @classmethod
    def standardised(cls, X: FloatArray, y: FloatArray) -> Rows:
        """Rows that are standardised already."""
        return cls(X, y, Standardisation(np.zeros(X.shape[1]), np.ones(X.shape[1]), 0.0, 1.0))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def inputs(self, scales: FloatArray | None = None) -> FloatArray:
        """All inputs, standardised and in units of ``scales``, shape (n_rows, n_features): a new array.

        Raises
        ------
        InvalidInputError
            If a row is so far from the others that its distance overflows.
        """
        standardised = standardise_inputs(self.X, self.scaling)
        if scales is not None:
            standardised /= scales
        return standardised

    def some(self, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """Standardised inputs and target of some rows."""
        return standardise_inputs(self.X[rows], self.scaling), self.y[rows]

    def blocks(self) -> list[slice]:
        """Consecutive rows, a few megabytes at a time: reading them in this order suits a file."""
        return list(row_blocks(self.X))


def places(order: IntArray) -> IntArray:
    """Where each row goes in an order of all rows: the inverse permutation, shape (n_rows,)."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found
