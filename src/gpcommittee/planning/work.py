"""Work of training and prediction, counted in floating-point operations of the code as it is.

Per expert of m rows, d inputs, communication set of c rows: an evaluation of the objective takes m^3 (Cholesky m^3/3,
inverse 2/3 m^3), or given the communication set m^3 + 13/4 c m^2 + 13/4 c^2 m, and 7/3 c^3 once; an augmented factor
c^2 m + 5/4 c m^2 + m^3, of which an inverse for its leave-one-out errors takes 2/3 m^3; its moments 2 c m + m^2 per
test point; a base expert m^3 and m^2. Kernel evaluations are counted in matrix-product operations that take the same
time. Variances of experts' own take c^2 m + 5/4 c m^2 and the eigenvectors of a symmetric matrix once, which take as
long as products of 11 m^3.
"""

from __future__ import annotations

from gpcommittee.aggregation import Experts, Neighbourhood
from gpcommittee.planning.case import Case, held_out_case
from gpcommittee.planning.cost import CALL_SECONDS, KERNEL_COSTS, OBJECTIVE_CALL_SECONDS, VARIANCES_CALL_SECONDS, Work
from gpcommittee.planning.neighbourhood import left_out_work
from gpcommittee.prediction.factors import EXPERT_BLOCK
from gpcommittee.prediction.stream import CHUNK
from gpcommittee.records import FloatArray


def objective_work(case: Case) -> tuple[Work, ...]:
    """One evaluation of the objective and its gradient: parts of which one begins when the one before has ended."""
    if case.objective == "conditional" and len(case.sizes) > 1:
        return _conditioning_work(case), _conditional_work(case)
    return (_marginal_work(case),)


def _marginal_work(case: Case) -> Work:
    entries = float((case.sizes**2).sum())
    return Work(
        products=6.0 * case.n_features * entries,
        solves=0.0,
        factorisations=float((case.sizes**3).sum()),
        entries=KERNEL_COSTS[case.kernel].gradient * entries,
        call_seconds=OBJECTIVE_CALL_SECONDS * len(case.sizes),
        n_tasks=len(case.sizes),
    )


def _conditioning_work(case: Case) -> Work:
    """The communication expert's part, on one worker while the others wait."""
    c = float(case.sizes[0])
    return Work(
        products=6.0 * case.n_features * c**2,
        solves=2 * c**3,
        factorisations=c**3 / 3,
        entries=KERNEL_COSTS[case.kernel].gradient * c**2,
        call_seconds=OBJECTIVE_CALL_SECONDS,
        n_tasks=1,
    )


def _conditional_work(case: Case) -> Work:
    """The other experts' part."""
    c, others = float(case.sizes[0]), case.sizes[1:]
    rows, squares = float(others.sum()), float((others**2).sum())
    entries = squares + c * rows
    return Work(
        products=3.25 * c * squares + 1.25 * c**2 * rows + 6.0 * case.n_features * entries,
        solves=2 * c**2 * rows,
        factorisations=float((others**3).sum()),
        entries=KERNEL_COSTS[case.kernel].gradient * entries,
        call_seconds=2 * OBJECTIVE_CALL_SECONDS * len(others),
        n_tasks=len(others),
    )


def factor_work(case: Case) -> Work:
    """All factors that the rule needs, the communication expert's included."""
    others, c, coupled = _others(case), float(case.sizes[0]), _coupling(case)
    own = c**2 + float((others**2).sum())
    entries = own + coupled * float(others.sum())
    return Work(
        products=1.25 * coupled * float((others**2).sum()) + 2 * case.n_features * entries,
        solves=coupled**2 * float(others.sum()),
        factorisations=c**3 + float((others**3).sum()),
        entries=KERNEL_COSTS[case.kernel].value * (entries + own),
        call_seconds=CALL_SECONDS * (1 + len(others) * (2 if coupled else 1)),
        n_tasks=1 + len(others),
    )


EIGENVECTORS = 11.0
"""Products' operations per m^3 that take as long as eigenvalues and eigenvectors; measured 11 to 12 at 500 to 1,000
rows, 21 at 300."""


def variances_work(case: Case) -> tuple[Work, ...]:
    """Signal and noise variances of every expert's own: the communication expert's factor, then the others."""
    if case.expert_variances != "own":
        return ()
    c, others, cost = float(case.sizes[0]), case.sizes[1:], KERNEL_COSTS[case.kernel].value
    rows, squares = float(others.sum()), float((others**2).sum())
    first = Work(2 * case.n_features * c**2, 0.0, c**3 / 3, cost * c**2, CALL_SECONDS, 1)
    entries = squares + c * rows
    rest = Work(
        products=1.25 * c * squares + EIGENVECTORS * float((others**3).sum()) + 2 * case.n_features * entries,
        solves=c**2 * rows,
        factorisations=0.0,
        entries=cost * entries,
        call_seconds=VARIANCES_CALL_SECONDS * len(others),
        n_tasks=len(others),
    )
    return first, rest


def additive_work(case: Case) -> Work:
    """Moments of the experts that an additive rule needs, at all test rows."""
    others, c = _others(case), float(case.sizes[0])
    n_chunks, n_blocks = -(-case.n_test // CHUNK), -(-(1 + len(others)) // EXPERT_BLOCK)
    passes = n_blocks if case.rule.experts is Experts.AUGMENTED else 1
    rows = float(others.sum()) + passes * c
    return Work(
        products=case.n_test * (2 * _coupling(case) * float(others.sum()) + (2 * case.n_features + 4) * rows),
        solves=case.n_test * (float((others**2).sum()) + passes * c**2),
        factorisations=0.0,
        entries=case.n_test * KERNEL_COSTS[case.kernel].value * rows,
        call_seconds=CALL_SECONDS * n_chunks * (len(others) + passes),
        n_tasks=n_chunks * n_blocks,
    )


def calibrating_work(case: Case) -> tuple[Work, ...]:
    """Factors without the rows that are held out, and predictions of these; nothing where a fit is not calibrated."""
    if isinstance(case.rule, Neighbourhood):
        return left_out_work(case)
    held_out = held_out_case(case)
    return () if held_out is None else (factor_work(held_out), additive_work(held_out))


def _others(case: Case) -> FloatArray:
    """Sizes of the experts besides the communication expert that the rule needs."""
    return case.sizes[1:] if case.rule.experts is not Experts.NONE else case.sizes[:0]


def _coupling(case: Case) -> float:
    """Communication rows to which the other experts are coupled."""
    return float(case.sizes[0]) if case.rule.experts is Experts.AUGMENTED else 0.0
