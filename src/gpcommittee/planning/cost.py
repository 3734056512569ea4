"""What operations cost: the share of the matrix-product rate that each kind reaches, measured with one BLAS thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

PRODUCT_SHARE = 0.95
"""Share of the DGEMM rate in products with a chunk of test points; measured 0.95 to 1.0 at 500 to 1,000 rows."""

SOLVE_SHARE = 0.7
"""The same in triangular solves; measured 0.62 to 0.77 at 500 to 625 rows."""

FACTORISATION_SHARE = 0.45
"""The same in Cholesky factorisations and inverses; measured 0.43 to 0.53 at 500 to 625 rows."""

OBJECTIVE_CALL_SECONDS = 1.1e-3
"""Interpreter time of one expert's value and gradient; measured on 64 rows, where it is nearly all there is."""

CALL_SECONDS = 0.6e-3
"""Interpreter time of one factor, or of one expert's moments at one chunk; measured likewise."""


VARIANCES_CALL_SECONDS = 2.5e-3
"""Interpreter time of the search for one expert's own variances."""


@dataclass(frozen=True)
class KernelCost:
    """Products' operations that take as long as one covariance entry, alone and with its gradient.

    Medians at 500 to 625 rows and 8 inputs: passes over memory, hence far more than the arithmetic.
    """

    value: float
    gradient: float


KERNEL_COSTS: Mapping[str, KernelCost] = MappingProxyType(
    {
        "squared_exponential": KernelCost(120, 290),
        "matern12": KernelCost(240, 500),
        "matern32": KernelCost(260, 460),
        "matern52": KernelCost(290, 490),
        "rational_quadratic": KernelCost(300, 690),
    }
)


@dataclass(frozen=True)
class Work:
    """Floating-point operations by the share of the DGEMM rate they reach, and calls from the interpreter.

    Attributes
    ----------
    products, solves, factorisations : float
        Operations.
    entries : float
        Kernel evaluations, in products' operations that take the same time.
    call_seconds : float
    n_tasks : int
        Tasks among which workers divide it.
    """

    products: float
    solves: float
    factorisations: float
    entries: float
    call_seconds: float
    n_tasks: int

    @property
    def flops(self) -> float:
        """Operations of the linear algebra, kernel evaluations left out."""
        return self.products + self.solves + self.factorisations

    def seconds(self, rate: float, n_workers: int) -> float:
        """Time at a rate that ``n_workers`` reach together; calls share the interpreter's one lock."""
        linear_algebra = (
            self.products / PRODUCT_SHARE + self.solves / SOLVE_SHARE + self.factorisations / FACTORISATION_SHARE
        )
        idle = n_workers * -(-self.n_tasks // n_workers) / max(self.n_tasks, 1)
        return idle * (linear_algebra + self.entries) / rate + self.call_seconds
