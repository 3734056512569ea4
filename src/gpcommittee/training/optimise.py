"""Minimising the objective by L-BFGS-B (SciPy), with failed factors as rejected steps and a record of the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from gpcommittee.errors import NotPositiveDefiniteError
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Hyperparameters, TrainingRecord
from gpcommittee.training.checkpoint import Evaluation, StageLog
from gpcommittee.training.space import SearchSpace

Objective = Callable[[FloatArray], tuple[float, FloatArray]]

GRADIENT_TOLERANCE = 1e-5
"""Largest projected gradient, per row, at which training has converged."""

VALUE_TOLERANCE = 1e-9
"""Relative change of the objective in one iteration at which training has converged, unless another is given."""

REJECTION_STEEPNESS = 10.0
"""Curvature of the bowl, per row, that stands in for the objective where a factor fails."""


LIMIT = "reached the limit"
"""Begins the reason for stopping when the evaluations are spent."""


@dataclass(frozen=True)
class Trained:
    """Result of training.

    Attributes
    ----------
    hyperparameters : Hyperparameters
        The best point that was evaluated.
    record : TrainingRecord
    at_lower, at_upper : tuple of str
        Parameters that ended on their lower and on their upper bound.
    """

    hyperparameters: Hyperparameters
    record: TrainingRecord
    at_lower: tuple[str, ...]
    at_upper: tuple[str, ...]


def train(
    objective: Objective,
    n_rows: int,
    space: SearchSpace,
    start: FloatArray,
    max_evaluations: int,
    reporter: Reporter,
    log: StageLog | None = None,
    *,
    value_tolerance: float = VALUE_TOLERANCE,
    stage_name: str = "train",
) -> Trained:
    """Minimise the objective from ``start`` by L-BFGS-B.

    Parameters
    ----------
    objective : callable
        Value and gradient at a parameter vector of shape (p + 1,).
    n_rows : int
        The optimiser sees the objective per row, so that its tolerances mean the same at any size.
    space : SearchSpace
    start : ndarray, shape (p + 1,)
        Moved into the bounds if it is outside.
    max_evaluations : int
    reporter : Reporter
    log : StageLog, optional
        Evaluations are read from it where it has them, and added to it where it has not.
    value_tolerance : float
        Relative change of the objective in one iteration at which training has converged.
    stage_name : str
        For the reporter.

    Returns
    -------
    Trained

    Raises
    ------
    NotPositiveDefiniteError
        If the objective cannot be evaluated at the start.
    CheckpointError
        If the log cannot be written.

    References
    ----------
    Byrd, Lu, Nocedal and Zhu (1995), "A limited memory algorithm for bound constrained optimization", SIAM Journal on
    Scientific Computing 16(5).
    """
    with reporter.stage(stage_name, max_evaluations, unit="evaluations") as stage:
        tracker = _Tracker(objective, n_rows, max_evaluations, stage.advance, log)
        result = _run(tracker, np.clip(start, space.lower, space.upper), space, value_tolerance)
    return _trained(tracker, result, space)


def _run(tracker: _Tracker, start: FloatArray, space: SearchSpace, value_tolerance: float) -> OptimizeResult:
    bounds = list(zip(space.lower, space.upper, strict=True))
    options = {
        "maxiter": tracker.limit,
        "maxfun": 2 * tracker.limit,
        "gtol": GRADIENT_TOLERANCE,
        "ftol": value_tolerance,
    }
    try:
        return minimize(tracker, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    except _OutOfEvaluations:
        return OptimizeResult(success=False, message=f"{LIMIT} of {tracker.limit} evaluations")


def _trained(tracker: _Tracker, result: OptimizeResult, space: SearchSpace) -> Trained:
    at_lower, at_upper = space.at_bounds(tracker.best)
    record = TrainingRecord(
        objective=tracker.best_value,
        gradient=tracker.best_gradient,
        evaluations=len(tracker.path),
        reused=tracker.reused,
        rejected=int(np.isnan(tracker.path).sum()),
        path=np.array(tracker.path),
        reason=str(result.message).rstrip(": "),
        converged=bool(result.success),
        at_bounds=at_lower + at_upper,
    )
    return Trained(Hyperparameters(tracker.best[:-1], float(tracker.best[-1])), record, at_lower, at_upper)


class _OutOfEvaluations(Exception):
    """Ends the optimiser when its evaluations are spent."""


class _Tracker:
    """The objective per row as the optimiser sees it, and what became of every evaluation."""

    def __init__(
        self,
        objective: Objective,
        n_rows: int,
        limit: int,
        advance: Callable[[int, str | None], None],
        log: StageLog | None,
    ) -> None:
        self.objective = objective
        self.n_rows = n_rows
        self.limit = limit
        self.advance = advance
        self.log = log
        self.path: list[float] = []
        self.reused = 0
        self.best_value = np.inf

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        if len(self.path) == self.limit:
            raise _OutOfEvaluations
        evaluation = self._evaluate(theta.copy())
        if evaluation is None and not self.path:
            raise NotPositiveDefiniteError(
                "Training cannot start: the objective is not finite at the starting hyperparameters; "
                "check the kernel's values or raise noise_variance."
            )
        value, gradient = self._stand_in(theta) if evaluation is None else evaluation
        self.path.append(np.nan if evaluation is None else value)
        if evaluation is not None and value < self.best_value:
            self.best, self.best_value, self.best_gradient = theta.copy(), value, gradient
        self.advance(1, f"objective {self.best_value:.6g}")
        return value / self.n_rows, gradient / self.n_rows

    def _evaluate(self, theta: FloatArray) -> Evaluation:
        if self.log is not None:
            try:
                evaluation = self.log.get(theta)
            except KeyError:
                pass
            else:
                self.reused += 1
                return evaluation
        evaluation = self._compute(theta)
        if self.log is not None:
            self.log.add(theta, evaluation)
        return evaluation

    def _compute(self, theta: FloatArray) -> Evaluation:
        try:
            value, gradient = self.objective(theta)
        except NotPositiveDefiniteError:
            return None
        return (value, gradient) if np.isfinite(value) and np.isfinite(gradient).all() else None

    def _stand_in(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """A bowl around the best point, above its value: the line search steps back from where a factor failed."""
        step = theta - self.best
        curvature = REJECTION_STEEPNESS * self.n_rows
        return self.best_value + curvature * (1 + float(step @ step)), 2 * curvature * step
