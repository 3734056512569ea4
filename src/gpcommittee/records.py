"""Frozen records that travel between rooms. They carry and check; they do not compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gpcommittee.errors import InvalidParameterError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Partition:
    """Which rows each expert holds; expert 0 is the communication expert.

    Attributes
    ----------
    order : ndarray of int64, shape (n_rows,)
        A permutation of the row numbers, expert after expert.
    offsets : ndarray of int64, shape (n_experts + 1,)
        Expert ``i`` holds rows ``order[offsets[i]:offsets[i + 1]]``.
    """

    order: IntArray
    offsets: IntArray

    def __post_init__(self) -> None:
        n_rows = len(self.order)
        if self.offsets[0] != 0 or self.offsets[-1] != n_rows or (np.diff(self.offsets) < 1).any():
            raise InvalidParameterError(
                f"Partition offsets must rise strictly from 0 to the row count {n_rows}, got {self.offsets}."
            )
        if (np.bincount(self.order, minlength=n_rows) != 1).any():
            raise InvalidParameterError("Partition order must hold every row number exactly once.")

    @property
    def n_experts(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> IntArray:
        """Rows per expert, shape (n_experts,)."""
        return np.diff(self.offsets)

    def rows(self, expert: int) -> IntArray:
        """Row numbers of one expert."""
        return self.order[self.offsets[expert] : self.offsets[expert + 1]]

    def labels(self) -> IntArray:
        """Expert of each row, shape (n_rows,)."""
        labels = np.empty(len(self.order), dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(self.n_experts), self.sizes)
        return labels


@dataclass(frozen=True)
class Shard:
    """Rows of consecutive experts, never the communication expert, that lie together on one worker.

    Attributes
    ----------
    X : ndarray, shape (n_rows, n_features)
        Standardised inputs, expert after expert.
    y : ndarray, shape (n_rows,)
        Standardised target.
    offsets : ndarray of int64, shape (n_experts + 1,)
        The shard's expert ``i`` holds the rows from ``offsets[i]`` to before ``offsets[i + 1]``; from 0 to ``n_rows``.
    first_expert : int
        Number of its first expert in the whole committee, at least 1.
    """

    X: FloatArray
    y: FloatArray
    offsets: IntArray
    first_expert: int

    def __post_init__(self) -> None:
        n_rows = len(self.y)
        if len(self.X) != n_rows or self.offsets[0] != 0 or self.offsets[-1] != n_rows:
            raise InvalidParameterError(
                f"A shard's offsets must rise from 0 to its row count, got offsets from {self.offsets[0]} to "
                f"{self.offsets[-1]} for {len(self.X)} rows of inputs and {n_rows} targets."
            )
        if self.first_expert < 1 or (np.diff(self.offsets) < 1).any():
            raise InvalidParameterError(
                "A shard holds experts of at least one row each, numbered from 1 (0 is the communication expert), got "
                f"{np.diff(self.offsets).min()} rows in its smallest expert and first expert {self.first_expert}."
            )

    def __sizeof__(self) -> int:
        """Bytes, by which Dask counts a worker's memory and what a move costs."""
        return self.X.nbytes + self.y.nbytes + self.offsets.nbytes

    @property
    def n_experts(self) -> int:
        return len(self.offsets) - 1

    @property
    def experts(self) -> range:
        """Their numbers in the whole committee."""
        return range(self.first_expert, self.first_expert + self.n_experts)


@dataclass(frozen=True)
class Standardisation:
    """Training means and scales (ddof = 1; a constant column has scale 1).

    Attributes
    ----------
    x_mean, x_scale : ndarray, shape (n_features,)
    y_mean, y_scale : float
    """

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: float
    y_scale: float


@dataclass(frozen=True)
class Hyperparameters:
    """A point of the search space shared by all experts.

    Attributes
    ----------
    kernel : ndarray, shape (n_kernel_parameters,)
        Unconstrained kernel parameters in the kernel's own order.
    log_noise_variance : float
        Natural logarithm of the noise variance of the standardised target.
    """

    kernel: FloatArray
    log_noise_variance: float

    @property
    def noise_variance(self) -> float:
        return float(np.exp(self.log_noise_variance))


@dataclass(frozen=True)
class OwnVariances:
    """Variances of every expert's own, as multiples of those that the experts share.

    Attributes
    ----------
    signal : ndarray, shape (n_experts,)
        Of the function about what the communication rows tell of it; 1 for the communication expert.
    noise : ndarray, shape (n_experts,)
        Of the observations; 1 for the communication expert.
    """

    signal: FloatArray
    noise: FloatArray

    def __post_init__(self) -> None:
        both = np.stack([self.signal, self.noise])
        if not (np.isfinite(both) & (both > 0)).all() or (both[:, 0] != 1).any():
            raise InvalidParameterError(
                "Variances of experts must be finite multiples above 0 of the shared ones, those of the communication "
                f"expert 1; got signal {self.signal} and noise {self.noise}."
            )


@dataclass(frozen=True)
class StageRecord:
    """One stage of training, on some of the experts or on all.

    Attributes
    ----------
    n_experts : int
        Experts that it used, the communication expert included.
    metric : str
        "learned" if rows were divided in the metric of the learned lengthscales by then, else "standardised".
    evaluations : int
        Of its objective, those replayed from a checkpoint included.
    objective : float
        At its end: the whole committee's, as these experts estimate it.
    loss : float or None
        What the whole committee's objective is expected to lack, in nats per row, because not all experts were used: an
        upper estimate. None after a stage that has none before it to compare with.
    converged : bool
    """

    n_experts: int
    metric: str
    evaluations: int
    objective: float
    loss: float | None
    converged: bool


@dataclass(frozen=True)
class KernelScore:
    """How one kernel did when several were compared, on the same experts.

    Attributes
    ----------
    objective : float
        At its own optimum, in nats per row.
    criterion : float
        By which kernels are compared, in nats per row: the objective, and half the logarithm of the number of rows for
        every parameter.
    n_rows : int
        Rows of these experts.
    evaluations : int
        Of its objective.
    """

    objective: float
    criterion: float
    n_rows: int
    evaluations: int


@dataclass(frozen=True)
class TrainingRecord:
    """What the optimiser did.

    Attributes
    ----------
    objective : float
        Negative log likelihood, factorised (Eq. 2) or conditional as the fit's ``objective`` says, plus minus the log
        prior if the kernel has priors. Where the last stage used some of the experts only, what these estimate of it:
        their sum, by their share of the rows.
    gradient : ndarray
        Its gradient at the result, in the order kernel parameters, log noise variance.
    evaluations : int
        Objective evaluations of all stages, those replayed from a checkpoint included.
    reused : int
        How many of them came from a checkpoint.
    rejected : int
        Evaluations at which a factor failed; the line search stepped back from them.
    path : ndarray, shape (evaluations,)
        Objective of every evaluation, stage after stage, NaN where it was rejected.
    reason : str
        Why the optimiser stopped in the last stage.
    converged : bool
        Whether the last stage did.
    at_bounds : tuple of str
        Parameters that ended on a bound.
    stages : tuple of StageRecord
        Empty in a record that was stored before there were stages.
    """

    objective: float
    gradient: FloatArray
    evaluations: int
    reused: int
    rejected: int
    path: FloatArray
    reason: str
    converged: bool
    at_bounds: tuple[str, ...]
    stages: tuple[StageRecord, ...] = ()


@dataclass(frozen=True)
class Moments:
    """Posterior mean and latent variance of one expert at a chunk of test points, each of shape (n_points,).

    Its dispersion is the factor by which its variances are to be multiplied: 1 where they are not calibrated and the
    signal variance is the shared one. Its relative noise is its noise variance in units of the shared one, before that.
    """

    mean: Tensor
    var_latent: Tensor
    dispersion: float = 1.0
    relative_noise: float = 1.0


@dataclass(frozen=True)
class Prediction:
    """Aggregated prediction of one rule.

    Attributes
    ----------
    mean : ndarray, shape (n_points,)
    var_latent : ndarray of shape (n_points,), or None when only the mean was asked for
        Variance of the function value.
    var_noisy : ndarray of shape (n_points,), or None when only the mean was asked for
        Variance of a new observation.
    """

    mean: FloatArray
    var_latent: FloatArray | None
    var_noisy: FloatArray | None

    def std(self, include_noise: bool) -> FloatArray:
        """Standard deviation of an observation, or of the function value; 0 where a rule's variance is negative.

        Parameters
        ----------
        include_noise : bool

        Returns
        -------
        ndarray, shape (n_points,)

        Raises
        ------
        ValueError
            If only the mean was asked for.
        """
        variance = self.var_noisy if include_noise else self.var_latent
        if variance is None:
            raise ValueError("There is no variance: only the mean was asked for.")
        deviation: FloatArray = np.sqrt(variance.clip(min=0.0))
        return deviation
