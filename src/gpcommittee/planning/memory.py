"""Peak memory of training and prediction, part by part, as the code holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from types import MappingProxyType

from gpcommittee.aggregation import NPAE, Neighbourhood
from gpcommittee.engines.threads import IN_FLIGHT_PER_WORKER
from gpcommittee.planning.case import Case, held_out_case
from gpcommittee.planning.factors import FactorPlan, plan_factors, plan_leaf_factors
from gpcommittee.planning.neighbourhood import leaf_rows_bytes, leaf_worker_bytes, leaves_left_out, portion_bytes
from gpcommittee.planning.nested import nested_worker_bytes
from gpcommittee.prediction.stream import CHUNK

INTERPRETER_BYTES = 490e6
"""Python with PyTorch, GPyTorch and scikit-learn after a first small fit, measured: 410 MB imported (230 of them
PyTorch, 100 SciPy's statistics and pandas, which scikit-learn imports), 45 at first use, 35 the allocator's reserve."""

ALLOCATOR_OVERHEAD = 1.2
"""Memory that factors take against their size: the temporary arrays between them leave holes in the heap. Measured 1.0
with experts of 625 rows, 1.2 with 512."""

FORGOTTEN_OVERHEAD = 1.3
"""The same with neighbourhood experts where some are forgotten to make room; 1.0, measured, where all are kept."""

DOUBLE = 8
INDEX = 8

DIVIDING_VALUES = 5
"""Row numbers and labels per row that are alive while rows are divided; measured with the tree and at random."""

RESULT_VALUES = 9
"""Numbers per test point that are alive while a rule's mean and two calibrated variances are put in the target's
units."""

SUM_VALUES = 15
"""Numbers per test point of a sum that waits for the next group of experts."""


EIGENVECTOR_ARRAYS = 5
"""Arrays of m x m alive while the eigenvectors of an expert's covariance are found, LAPACK's own two included."""


@dataclass(frozen=True)
class LiveArrays:
    """Arrays of an expert's shape that are alive at once, at most; measured as peak memory with 2,500 rows.

    Attributes
    ----------
    gradient : int
        m x m, in the objective and its gradient.
    factor : int
        m x m, while an augmented factor is made.
    moments : int
        m x chunk, in an expert's moments.
    """

    gradient: int
    factor: int
    moments: int


LIVE_ARRAYS: Mapping[str, LiveArrays] = MappingProxyType(
    {
        "squared_exponential": LiveArrays(4, 3, 2),
        "matern12": LiveArrays(5, 3, 2),
        "matern32": LiveArrays(5, 3, 3),
        "matern52": LiveArrays(6, 4, 3),
        "rational_quadratic": LiveArrays(6, 4, 3),
    }
)


@dataclass(frozen=True)
class Memory:
    """Bytes in use at the peak, by what they hold.

    Attributes
    ----------
    interpreter : float
        Python and the libraries.
    data : float
        Training and test rows in all copies that are alive, the caller's own included.
    factors : float
        Factors of the experts and the holes between them.
    workers : float
        Temporary arrays of all workers.
    results : float
        Predictions, and sums that wait for more experts.
    """

    interpreter: float
    data: float
    factors: float
    workers: float
    results: float

    @property
    def peak(self) -> float:
        """All of it."""
        return float(sum(astuple(self)))


def fit_memory(case: Case) -> Memory:
    """Peak of a fit: the rows as given and standardised, while they are divided; or as given and ordered by expert.

    In the second case it trains, finds variances of experts' own, or predicts held-out rows.

    k-means moves a copy of the inputs to their centre.
    """
    clustered = float(DOUBLE * case.sizes.sum() * case.n_features) if case.partition == "kmeans" else 0.0
    dividing = _given_bytes(case) + _rows_bytes(case, DOUBLE, DIVIDING_VALUES) + clustered
    training = _given_bytes(case) + _rows_bytes(case, case.itemsize)
    calibrating, kept = Memory(INTERPRETER_BYTES, 0.0, 0.0, 0.0, 0.0), INDEX * float(case.sizes.sum())
    if (held_out := held_out_case(case)) is not None:
        factors = ALLOCATOR_OVERHEAD * plan_factors(held_out).resident
        workers = case.n_workers * _worker_bytes(held_out)
        calibrating = Memory(INTERPRETER_BYTES, training + kept, factors, workers, 0.0)
    elif isinstance(case.rule, Neighbourhood) and case.calibrates:
        calibrating = _leaving_out(case, training)
    return max(
        calibrating,
        Memory(INTERPRETER_BYTES, dividing, 0.0, 0.0, 0.0),
        Memory(INTERPRETER_BYTES, training, 0.0, _training_bytes(case), 0.0),
        Memory(INTERPRETER_BYTES, training, 0.0, _variances_bytes(case), 0.0),
        key=lambda memory: memory.peak,
    )


def _leaving_out(case: Case, rows: float) -> Memory:
    """While rows are left out, whose experts' factors stay."""
    factors = plan_leaf_factors(case, leaves_left_out(case))
    workers, held = _leaf_workers(replace(case, n_test=0), factors), rows + leaf_rows_bytes(case)
    return Memory(INTERPRETER_BYTES, held, _leaf_overhead(factors) * factors.resident, workers, 0.0)


def _leaf_overhead(factors: FactorPlan) -> float:
    return 1.0 if factors.kept else FORGOTTEN_OVERHEAD


def _leaf_workers(case: Case, factors: FactorPlan) -> float:
    n_arrays = LIVE_ARRAYS[case.kernel].moments
    return case.n_workers * leaf_worker_bytes(case, n_arrays, kept=factors.kept)


def _training_bytes(case: Case) -> float:
    """Temporary arrays of all workers while they evaluate the objective and its gradient.

    Given the communication set, a worker holds matrices of an expert's rows by the communication rows too, and those of
    the communication expert are held throughout, beside its derivatives by experts that wait to be summed.
    """
    live = LIVE_ARRAYS[case.kernel].gradient
    if case.objective != "conditional" or len(case.sizes) == 1:
        return float(min(case.n_workers, len(case.sizes)) * live * case.itemsize * case.sizes.max() ** 2)
    c, m = float(case.sizes[0]), float(case.sizes[1:].max())
    busy = min(case.n_workers, len(case.sizes) - 1)
    waiting = min(IN_FLIGHT_PER_WORKER * case.n_workers, len(case.sizes) - 1) if case.n_workers > 1 else 1
    of_workers = busy * (live * m**2 + (live - 1) * c * m)
    return case.itemsize * (of_workers + (live + 1 + waiting) * c**2)


def _variances_bytes(case: Case) -> float:
    """Temporary arrays of all workers while they find variances of experts' own, and the communication factor."""
    if case.expert_variances != "own" or len(case.sizes) == 1:
        return 0.0
    c, m = float(case.sizes[0]), float(case.sizes[1:].max())
    busy = min(case.n_workers, len(case.sizes) - 1)
    return DOUBLE * (c**2 + busy * (EIGENVECTOR_ARRAYS * m**2 + 2 * c * m))


def predict_memory(case: Case, factors: FactorPlan) -> Memory:
    """Peak of prediction with one rule, in the process of the fit: rows as given and ordered, test rows, factors."""
    test_rows = DOUBLE * case.n_test * case.n_features
    data = _given_bytes(replace(case, from_table=False)) + _rows_bytes(case, case.itemsize) + test_rows
    if isinstance(case.rule, Neighbourhood):
        return Memory(
            interpreter=INTERPRETER_BYTES,
            data=data + leaf_rows_bytes(case),
            factors=_leaf_overhead(factors) * factors.resident,
            workers=_leaf_workers(case, factors),
            results=case.n_test * RESULT_VALUES * DOUBLE + portion_bytes(case),
        )
    waiting = SUM_VALUES * case.itemsize if factors.n_groups > 1 else 0
    return Memory(
        interpreter=INTERPRETER_BYTES,
        data=data,
        factors=ALLOCATOR_OVERHEAD * factors.resident,
        workers=case.n_workers * _worker_bytes(case),
        results=float(case.n_test * (RESULT_VALUES * DOUBLE + waiting)),
    )


def _given_bytes(case: Case) -> float:
    """Inputs and target as they are given; of a table, the table and the array that is made of it."""
    copies = 2 if case.from_table else 1
    return float(case.sizes.sum() * DOUBLE * (copies * case.n_features + 1))


def _rows_bytes(case: Case, bytes_per_value: int, row_numbers: int = 1) -> float:
    """Inputs and target, and numbers that say of each row where it belongs."""
    return float(case.sizes.sum() * ((case.n_features + 1) * bytes_per_value + row_numbers * INDEX))


def _worker_bytes(case: Case) -> float:
    """Bytes of one worker's temporary arrays while it makes factors, or while it is busy with a chunk."""
    factoring = case.itemsize * LIVE_ARRAYS[case.kernel].factor * float(case.sizes.max()) ** 2
    return max(factoring, nested_worker_bytes(case) if isinstance(case.rule, NPAE) else _chunk_bytes(case))


def _chunk_bytes(case: Case) -> float:
    """Of a chunk of test points."""
    live = LIVE_ARRAYS[case.kernel].moments
    rows = live * case.sizes.max() + case.sizes[0]
    return float(case.itemsize * min(CHUNK, case.n_test) * rows)
