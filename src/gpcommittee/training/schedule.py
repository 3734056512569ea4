"""How many experts a stage of training uses, and when more of them would not help.

The shared hyperparameters are few and every expert says something about all of them, so some of the experts determine
them nearly as well as all do. What is lost by using k of M experts follows from the theory of M-estimators (Huber 1967;
van der Vaart 1998, chapter 5) in samples without replacement: near the optimum the objective of an expert is quadratic,
with mean Hessian H and covariance G of the experts' gradients, and

    expected loss per expert at the optimum of k of M experts = tr(H^-1 G) / 2 * (1/k - 1/M).

tr(H^-1 G), Takeuchi's penalty, is the number of parameters only where the model holds; experts of different regions can
make it many times larger. It need not be computed. Experts that join a stage of n after one of k are held out for the
optimum before: the mean drop d of their own objective from the optimum of k to that of n has expectation
tr(H^-1 G) / 2 * (1/k + 1/n), so that

    loss at the optimum of n = d * k / (k + n) * (1 - n/M),

and neither Hessian nor gradients are needed. The same holds where all n experts are new to the optimum before. One
standard error of d over the experts is added. With the loss known, so is the number of experts at which it would be
small enough, and the next stage goes there.

References
----------
Huber (1967), "The behavior of maximum likelihood estimates under nonstandard conditions", Berkeley Symposium 5(1).
van der Vaart (1998), Asymptotic Statistics, chapter 5.
Takeuchi (1976), "Distribution of informational statistics and a criterion of model fitting", Suri-Kagaku 153.
Cochran (1977), Sampling Techniques, section 2.11 (standard error of a ratio).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpcommittee.records import FloatArray, IntArray

TOLERATED_LOSS = 1e-3
"""Nats per row. On kin40k, sarcos and the geoid GRBCM lost two to six times as much in MSLL: hard to measure."""

FIRST_STAGE = 4
"""Experts of the first stage: enough for a start near the optimum, at a small part of the cost."""

GROWTH = 4
"""A stage that others follow is this many times the one before: with a good start few evaluations are left to it."""

LEAST_GROWTH = 1.5
"""A smaller step is not worth a stage, so the last grows at least by this, and beyond GROWTH times up to this."""

NEARLY_ALL = 0.6
"""Beyond this share of the experts all are used: what is left to save is less than another stage may cost."""

FEW = 8
"""Up to so many experts there is nothing to save by stages."""

PILOT = 16
"""Most experts on which lengthscales are learned for the partition in their metric."""

COMPARED = (4, 8)
"""Least and most experts on which families of kernels are compared."""

COMPARED_ROWS = 4_000
"""Rows that they should have together: enough to tell families apart that make a difference."""


def expert_order(n_experts: int, seed: int) -> IntArray:
    """The order in which experts join, shape (n_experts,): the communication expert, then the others at random.

    The communication expert is a random sample of all rows, which steadies the first stages. Independent of the random
    numbers of the partition.
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))
    return np.concatenate([np.zeros(1, dtype=np.int64), 1 + generator.permutation(n_experts - 1)])


def ordinary_rows(sizes: NDArray[Any]) -> int:
    """Rows of the largest expert beside the communication expert, or of that one where it is alone.

    Examples
    --------
    >>> ordinary_rows(np.array([2000, 800, 801])), ordinary_rows(np.array([300]))
    (801, 300)
    """
    return round(float(sizes[1:].max(initial=0) or sizes[0]))


def n_compared(expert_rows: int) -> int:
    """Experts of so many rows on which families of kernels are compared.

    Examples
    --------
    >>> [n_compared(rows) for rows in (100, 500, 800, 2000)]
    [8, 8, 5, 4]
    """
    least, most = COMPARED
    return min(most, max(least, COMPARED_ROWS // expert_rows))


def expected_loss(drop: FloatArray, rows: IntArray, n_before: int, n_now: int, n_experts: int) -> float:
    """Upper estimate of what the optimum of ``n_now`` experts lacks, in nats per row.

    Parameters
    ----------
    drop : ndarray, shape (k,)
        By how much the objective of each held-out expert fell from the optimum before to this one.
    rows : ndarray, shape (k,)
        Rows of the held-out experts.
    n_before, n_now, n_experts : int
        Experts of the stage before, of this one and of the committee.

    Returns
    -------
    float
        Infinite where fewer than two experts were held out; 0 when all are used.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.full(4, 500)
    >>> round(expected_loss(np.array([3.0, 3.0, 3.0, 3.0]), rows, 4, 8, 10**6), 6)  # 3 / 500 * 4 / 12
    0.002
    """
    if n_now >= n_experts:
        return 0.0
    if len(drop) < 2:
        return math.inf
    ratio = drop.sum() / rows.sum()
    error = math.sqrt(len(drop) * np.var(drop - ratio * rows, ddof=1)) / rows.sum()
    return max(0.0, float(ratio + error)) * n_before / (n_before + n_now) * (1 - n_now / n_experts)


@dataclass(frozen=True)
class Step:
    """The next stage.

    Attributes
    ----------
    size : int
        Its experts.
    may_be_last : bool
        Whether they should be enough.
    """

    size: int
    may_be_last: bool


def next_step(n_now: int, n_experts: int, loss: float | None) -> Step:
    """The next stage: on as many experts as bring the loss down to what is tolerated, within limits of growth.

    Parameters
    ----------
    n_now, n_experts : int
        Experts of the last stage and of the committee.
    loss : float or None
        At the optimum of the last stage; None if it is not known.

    Returns
    -------
    Step

    Examples
    --------
    >>> next_step(4, 1000, None)
    Step(size=16, may_be_last=False)
    >>> next_step(16, 1000, 0.002)
    Step(size=32, may_be_last=True)
    >>> next_step(16, 100, 0.01)
    Step(size=100, may_be_last=True)
    """
    enough = max(_enough(n_now, n_experts, loss), math.ceil(LEAST_GROWTH * n_now))
    size = enough if enough < LEAST_GROWTH * GROWTH * n_now else GROWTH * n_now
    return Step(size, size == enough) if size < NEARLY_ALL * n_experts else Step(n_experts, True)


def _enough(n_now: int, n_experts: int, loss: float | None) -> int:
    """Experts at which the expected loss is the tolerated one."""
    if loss is None or n_now == n_experts:
        return n_experts
    constant = loss / (1 / n_now - 1 / n_experts)
    return math.ceil(constant / (TOLERATED_LOSS + constant / n_experts))


def pilot_sizes(n_experts: int, most: int) -> tuple[int, ...]:
    """Experts of the stages that learn lengthscales for the partition, at most ``most``.

    Examples
    --------
    >>> pilot_sizes(20, 20), pilot_sizes(100, 100), pilot_sizes(100, 10), pilot_sizes(2, 2)
    ((4,), (4, 16), (4, 10), (2,))
    """
    sizes = [FIRST_STAGE] if NEARLY_ALL * n_experts <= PILOT else [FIRST_STAGE, PILOT]
    return tuple(sorted({min(size, most, n_experts) for size in sizes}))
