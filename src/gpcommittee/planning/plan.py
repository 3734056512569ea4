"""The plan of a fit and a prediction."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from gpcommittee.aggregation import NPAE, Neighbourhood, Rule
from gpcommittee.choices import check_count, check_count_or_name, check_optional_positive
from gpcommittee.engines import make_engine
from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KERNELS
from gpcommittee.partition import PARTITIONERS, resolve_sizes
from gpcommittee.planning.advice import advise
from gpcommittee.planning.case import Case, expected_sizes, planned_rule
from gpcommittee.planning.cost import KERNEL_COSTS, Work
from gpcommittee.planning.factors import plan_factors
from gpcommittee.planning.memory import Memory, fit_memory, predict_memory
from gpcommittee.planning.neighbourhood import (
    first_prediction_work,
    leaf_factor_work,
    leaf_moments_work,
    leaf_sizes,
)
from gpcommittee.planning.nested import nested_work
from gpcommittee.planning.rate import measure_dgemm_rate
from gpcommittee.planning.stages import (
    PlannedStage,
    Training,
    learns_metric,
    longest_stages,
    training_seconds,
    typical_stages,
)
from gpcommittee.planning.work import additive_work, calibrating_work, factor_work, objective_work, variances_work
from gpcommittee.precision import torch_dtype
from gpcommittee.prediction import factor_budget
from gpcommittee.training import (
    AUTO,
    EXPERT_VARIANCES,
    METRICS,
    OBJECTIVES,
    TRAINING_EXPERTS,
    compares_kernels,
    most_experts,
)
from gpcommittee.training.schedule import n_compared, ordinary_rows


@dataclass(frozen=True)
class Plan:
    """What a fit and a prediction take.

    Attributes
    ----------
    n_rows, n_features, n_test : int
    n_experts : int
        The communication expert included.
    expert_size : int
        Rows of the largest expert.
    communication_size : int
    kernel : str
        That is counted: of those that "auto" compares, the dearest.
    n_kernels : int
        Kernels that "auto" compares; 1 where the kernel is named.
    n_workers : int
        Threads that work at the same time.
    factor_bytes : float
        Bytes of all factors that prediction needs.
    factors_kept : bool
        Whether they are kept between predictions.
    fit_memory, predict_memory : Memory
        Bytes in use at the peak of each, part by part.
    objective_flops, factor_flops, predict_flops : float
        Floating-point operations of one evaluation of the objective, of all factors, and of the experts' moments at all
        test rows; kernel evaluations count by their products alone.
    machine_rate : float
        Matrix-product operations per second of all workers together.
    stages : tuple of PlannedStage
        Experts and evaluations of the objective in each stage of a typical fit.
    evaluations : int
        Evaluations of all stages.
    fit_seconds : float
        Time of a typical fit.
    longest_fit_seconds : float
        Time of a fit that needs all experts, and in every stage all the evaluations it is allowed.
    predict_seconds : float
        Time of a first prediction, which makes the factors that the fit has not left.
    advice : str
        The first thing to change, if anything.
    """

    n_rows: int
    n_features: int
    n_test: int
    n_experts: int
    expert_size: int
    communication_size: int
    kernel: str
    n_kernels: int
    n_workers: int
    factor_bytes: float
    factors_kept: bool
    fit_memory: Memory
    predict_memory: Memory
    objective_flops: float
    factor_flops: float
    predict_flops: float
    machine_rate: float
    stages: tuple[PlannedStage, ...]
    evaluations: int
    fit_seconds: float
    longest_fit_seconds: float
    predict_seconds: float
    advice: str

    @property
    def peak_memory(self) -> float:
        """Bytes in use at the peak of fit and prediction."""
        return max(self.fit_memory.peak, self.predict_memory.peak)


def plan_fit(
    n_rows: int,
    n_features: int,
    n_test: int = 0,
    *,
    n_experts: int | None = None,
    expert_size: int | None = None,
    communication_size: int | None = None,
    partition: str = "tree",
    partition_metric: str = "learned",
    objective: str = "factorised",
    expert_variances: str = "shared",
    n_jobs: int | None = None,
    max_evaluations: int = 100,
    training_experts: int | str = "auto",
    dtype: str = "float64",
    memory_budget: float | None = None,
    aggregation: str | Rule = "neighbourhood",
    calibration: str | None = "held_out",
    machine_rate: float | None = None,
    kernel: str | None = None,
    from_table: bool = False,
) -> Plan:
    """Memory and time of a fit and a prediction on a CPU, before anything is spent.

    Memory is that of one process that holds all rows as float64 numbers, fits, and predicts mean and variance of all
    test rows in one call; it is meant to be right within a quarter. Time is that of workers with a processor each, and
    meant to be right within a factor of 2 for the stages given. How many experts and evaluations a fit needs, and the
    sizes of k-means clusters, are known only afterwards; usual ones stand for them.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the training inputs.
    n_test : int, default=0
        Test rows.
    n_experts, expert_size, communication_size, n_jobs, max_evaluations, dtype, memory_budget, aggregation, calibration
        As in `CommitteeRegressor`. The rule "auto" is planned as "neighbourhood", with a random partition as "grbcm":
        choosing it takes as long as predicting up to 1,000 rows by all rules, and is not counted.
    partition_metric, objective, expert_variances, training_experts
        As in `CommitteeRegressor`.
    partition : {"tree", "kmeans", "random"}, default="tree"
    machine_rate : float, optional
        Matrix-product operations per second of all workers together. Default: measured by `measure_dgemm_rate`.
    kernel : str, optional
        Name of a kernel; one of your own may cost more. "auto", the default: the comparison is one of the stages, and
        the dearest kernel is counted throughout, as if it were the one chosen.
    from_table : bool, default=False
        The rows are given as a frame, or read from a file on the command line, which takes one more copy of the inputs
        during a fit.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidParameterError
        If a setting is not allowed.
    MemoryBudgetError
        If NPAE is asked for and does not fit the memory budget.

    Examples
    --------
    >>> plan = plan_fit(10_000, 8, n_test=1_000_000, n_experts=16, n_jobs=1, machine_rate=4e10, memory_budget=4.0)
    >>> plan.expert_size, plan.factors_kept, f"{plan.peak_memory / 1e9:.1f} GB"
    (625, True, '3.3 GB')
    """
    case, training = planned_case(
        n_rows,
        n_features,
        n_test,
        n_experts=n_experts,
        expert_size=expert_size,
        communication_size=communication_size,
        partition=partition,
        partition_metric=partition_metric,
        objective=objective,
        n_jobs=n_jobs,
        max_evaluations=max_evaluations,
        training_experts=training_experts,
        dtype=dtype,
        memory_budget=memory_budget,
        aggregation=aggregation,
        calibration=calibration,
        expert_variances=expert_variances,
        kernel=kernel,
        from_table=from_table,
    )
    rate = planned_rate(machine_rate, n_jobs, dtype)
    return _plan(case, int(n_rows), training, rate)


def planned_case(
    n_rows: int,
    n_features: int,
    n_test: int,
    *,
    n_experts: int | None = None,
    expert_size: int | None = None,
    communication_size: int | None = None,
    partition: str = "tree",
    partition_metric: str = "learned",
    objective: str = "factorised",
    n_jobs: int | None = None,
    max_evaluations: int = 100,
    training_experts: int | str = "auto",
    dtype: str = "float64",
    memory_budget: float | None = None,
    aggregation: str | Rule = "neighbourhood",
    calibration: str | None = "held_out",
    expert_variances: str = "shared",
    kernel: str | None = None,
    from_table: bool = False,
) -> tuple[Case, Training]:
    """The settings of `plan_fit`, checked and resolved."""
    kernel = AUTO if kernel is None else kernel
    sizes = resolve_sizes(n_rows, n_experts, expert_size, communication_size)
    rule = planned_rule(aggregation, _known("partition", partition, PARTITIONERS))
    case = Case(
        sizes=expected_sizes(n_rows, sizes, partition),
        n_features=check_count("n_features", n_features),
        n_test=check_count("n_test", n_test, 0),
        itemsize=torch_dtype(dtype).itemsize,
        n_workers=make_engine(n_jobs).n_workers,
        rule=rule,
        kernel=_counted_kernel(kernel),
        budget=factor_budget(check_optional_positive("memory_budget", memory_budget)),
        objective=_known("objective", objective, OBJECTIVES),
        calibrates=calibration == "held_out" and not isinstance(rule, NPAE),
        from_table=from_table,
        partition=partition,
        expert_variances=_known("expert_variances", expert_variances, EXPERT_VARIANCES),
    )
    training = Training(
        experts=_training_experts(training_experts, sizes.n_experts),
        learns_metric=learns_metric(
            partition, _known("partition_metric", partition_metric, METRICS), sizes.n_experts, case.n_features
        ),
        max_evaluations=check_count("max_evaluations", max_evaluations),
        n_kernels=len(KERNELS) if compares_kernels(kernel) else 1,
        n_compared=n_compared(ordinary_rows(case.sizes)),
    )
    return case, training


def planned_rate(machine_rate: float | None, n_jobs: int | None, dtype: str) -> float:
    """Matrix-product operations per second, measured unless given."""
    return check_optional_positive("machine_rate", machine_rate) or measure_dgemm_rate(n_jobs, dtype)


def _plan(case: Case, n_rows: int, training: Training, rate: float) -> Plan:
    objective, factoring, moments = objective_work(case), _all_factors_work(case), _moments_work(case)
    predicting = first_prediction_work(case) if isinstance(case.rule, Neighbourhood) else (factoring, moments)
    factors, at_fit = plan_factors(case), fit_memory(case)
    at_predict = predict_memory(case, factors)
    stages = typical_stages(training, len(case.sizes))
    after_training = sum(
        work.seconds(rate, case.n_workers) for work in (*variances_work(case), *calibrating_work(case))
    )
    fit_seconds = training_seconds(case, stages, rate) + after_training
    expert_size = math.ceil(case.sizes[-1])
    return Plan(
        n_rows=n_rows,
        n_features=case.n_features,
        n_test=case.n_test,
        n_experts=len(case.sizes),
        expert_size=expert_size,
        communication_size=int(case.sizes[0]),
        kernel=case.kernel,
        n_kernels=training.n_kernels,
        n_workers=case.n_workers,
        factor_bytes=factors.total,
        factors_kept=factors.kept,
        fit_memory=at_fit,
        predict_memory=at_predict,
        objective_flops=sum(work.flops for work in objective),
        factor_flops=factoring.flops,
        predict_flops=moments.flops,
        machine_rate=rate,
        stages=stages,
        evaluations=sum(stage.evaluations for stage in stages),
        fit_seconds=fit_seconds,
        longest_fit_seconds=training_seconds(case, longest_stages(training, len(case.sizes)), rate) + after_training,
        predict_seconds=sum(work.seconds(rate, case.n_workers) for work in predicting),
        advice=advise(
            peak=max(at_fit.peak, at_predict.peak),
            factors=factors,
            budget=case.budget,
            fit_seconds=fit_seconds,
            expert_size=expert_size,
            by_leaves=isinstance(case.rule, Neighbourhood),
        ),
    )


def _all_factors_work(case: Case) -> Work:
    if isinstance(case.rule, Neighbourhood):
        return leaf_factor_work(case, leaf_sizes(case).n_leaves)
    return factor_work(case)


def _moments_work(case: Case) -> Work:
    if isinstance(case.rule, Neighbourhood):
        return leaf_moments_work(case)
    return nested_work(case) if isinstance(case.rule, NPAE) else additive_work(case)


def _known(name: str, value: object, allowed: Collection[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidParameterError(f"{name} must be one of {sorted(allowed)} in a plan, got {value!r}.")
    return value


def _counted_kernel(kernel: object) -> str:
    """The kernel itself, or the dearest of those that are compared."""
    if compares_kernels(_known("kernel", kernel, (*KERNELS, AUTO))):
        return max(KERNELS, key=lambda name: KERNEL_COSTS[name].gradient)
    return str(kernel)


def _training_experts(value: object, n_experts: int) -> int | str:
    wanted = check_count_or_name("training_experts", value, TRAINING_EXPERTS)
    return wanted if isinstance(wanted, str) else most_experts(wanted, n_experts)
