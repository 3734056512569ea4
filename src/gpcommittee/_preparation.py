"""The way of a fit from settings and rows to rows that are divided: here, sent to a cluster, or read there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import NDArray

from gpcommittee import _settings as settings
from gpcommittee._fitted import CALIBRATIONS, FittedState
from gpcommittee._input import checked_training_data
from gpcommittee._on_cluster import divide_on_workers, worker_device
from gpcommittee.choices import (
    check_choice,
    check_count,
    check_count_or_name,
    check_optional_positive,
    check_positive,
)
from gpcommittee.cluster import ArrangedOnCluster, Cluster, divide_arrays
from gpcommittee.data import Rows, standardisation, standardise_target
from gpcommittee.distributed import RowSource, check_method, is_partitioned, open_rows
from gpcommittee.engines import Engine
from gpcommittee.errors import InvalidParameterError
from gpcommittee.kernels import KernelFunction
from gpcommittee.partition import (
    DISTANCE_PARTITIONERS,
    PartitionSizes,
    partition_from_labels,
    partition_rows,
    resolve_sizes,
)
from gpcommittee.precision import torch_dtype
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Partition, Standardisation
from gpcommittee.training import (
    EXPERT_VARIANCES,
    METRICS,
    OBJECTIVES,
    TRAINING_EXPERTS,
    Arranged,
    FitOptions,
    Prepared,
    compares_kernels,
    divide_in_memory,
    prepare,
)


class PreparationMixin(FittedState):
    """What a fit does before it trains, to be inherited by the estimator, whose constructor sets the settings."""

    kernel: str | Kernel | None
    n_experts: int | None
    expert_size: int | None
    communication_size: int | None
    partition_metric: str
    objective: str
    expert_variances: str
    noise_variance: float
    optimizer: str | None
    max_evaluations: int
    training_experts: int | str
    random_state: int | np.random.RandomState | None
    dtype: str
    checkpoint: str | os.PathLike[str] | None

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _fit_options(self) -> FitOptions:
        check_choice("optimizer", self.optimizer, ("l-bfgs-b", None))
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("expert_variances", self.expert_variances, EXPERT_VARIANCES)
        if self.expert_variances == "own" and self.engine is not None:
            raise InvalidParameterError(
                "expert_variances='own' is not found on a cluster; set it to 'shared', or fit with engine=None."
            )
        check_optional_positive("memory_budget", self.memory_budget)
        check_choice("calibration", self.calibration, CALIBRATIONS)
        if compares_kernels(self.kernel) and self.optimizer is None:
            raise InvalidParameterError(
                "kernel='auto' compares kernels by training them, and optimizer=None trains nothing; name a kernel or "
                "set optimizer='l-bfgs-b'."
            )
        return FitOptions(
            optimise=self.optimizer is not None,
            max_evaluations=check_count("max_evaluations", self.max_evaluations),
            checkpoint=settings.checkpoint(self.checkpoint),
            training_experts=check_count_or_name("training_experts", self.training_experts, TRAINING_EXPERTS),
            partition_metric=self._partition_metric(),
            objective=self.objective,
            seed=settings.seed(self.random_state),
        )

    def _kernel_functions(self, n_features: int) -> dict[str, KernelFunction]:
        kernels = settings.kernels(self.kernel, n_features, optimise=self.optimizer is not None)
        dtype, device = torch_dtype(self.dtype), self._device()
        return {name: KernelFunction(kernel, dtype, device) for name, kernel in kernels.items()}

    def _device(self) -> torch.device:
        """Where this process computes: a cluster's workers have devices of their own."""
        return settings.device(self.device if self.engine is None else None)

    def _partition_metric(self) -> str:
        """The one in which rows are divided; it makes no difference to a random partition and to labels."""
        check_choice("partition_metric", self.partition_metric, METRICS)
        divides_by_distance = isinstance(self.partition, str) and self.partition in DISTANCE_PARTITIONERS
        return self.partition_metric if divides_by_distance else "standardised"

    def _prepared(
        self, X: Any, y: Any, options: FitOptions, engine: Engine, reporter: Reporter, cluster: Cluster | None
    ) -> tuple[Prepared[Arranged] | Prepared[ArrangedOnCluster], Standardisation]:
        """The fit with its rows divided; copies made on the way there end here."""
        noise_variance = check_positive("noise_variance", self.noise_variance)
        if _lies_on_workers(X, cluster):
            return self._prepared_by_workers(X, y, noise_variance, options, engine, reporter, cluster)
        inputs, target = checked_training_data(self, X, y)
        kernels = self._kernel_functions(inputs.shape[1])
        scaling = standardisation(inputs, target)
        rows = Rows(inputs, standardise_target(target, scaling), scaling)
        divide, rest = self._divider(len(rows), options.seed), (noise_variance, options, engine, reporter)
        if cluster is None:
            return prepare(kernels, divide_in_memory(rows, divide), *rest), scaling
        on_cluster = divide_arrays(cluster, rows, divide, worker_device(self.device))
        return prepare(kernels, on_cluster, *rest), scaling

    def _prepared_by_workers(
        self,
        X: Any,
        y: Any,
        noise_variance: float,
        options: FitOptions,
        engine: Engine,
        reporter: Reporter,
        cluster: Cluster | None,
    ) -> tuple[Prepared[ArrangedOnCluster], Standardisation]:
        """The same of rows that the workers of a cluster read."""
        if cluster is None:
            raise InvalidParameterError(
                f"Rows of type {type(X).__name__} lie on a cluster; pass its client: CommitteeRegressor(engine=client)."
            )
        method = check_method(self.partition)
        source = X if isinstance(X, RowSource) else open_rows(X, y)
        kernels = self._kernel_functions(source.n_features)

        def sizes(n_rows: int) -> PartitionSizes:
            return resolve_sizes(n_rows, self.n_experts, self.expert_size, self.communication_size)

        in_metric, scaling = divide_on_workers(cluster, source, method, sizes, options.seed, worker_device(self.device))
        self.n_features_in_ = source.n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if source.feature_names is not None:
            self.feature_names_in_ = np.array(source.feature_names, dtype=object)
        return prepare(kernels, in_metric, noise_variance, options, engine, reporter), scaling

    def _divider(self, n_rows: int, seed: int) -> Callable[[FloatArray], Partition]:
        """From inputs to a partition."""
        method = self.partition
        if not isinstance(method, str):
            labels: NDArray[Any] = np.asarray(method)
            settings.unset_with_labels(self.n_experts, self.expert_size, self.communication_size)
            return lambda X: partition_from_labels(labels, len(X))
        sizes = resolve_sizes(n_rows, self.n_experts, self.expert_size, self.communication_size)
        return lambda X: partition_rows(X, method, sizes, seed)


def _lies_on_workers(X: Any, cluster: Cluster | None) -> bool:
    """Whether rows are a cluster's own; a path is one only where there is a cluster to read it."""
    if isinstance(X, RowSource):
        return True
    return is_partitioned(X) and (cluster is not None or hasattr(X, "__dask_graph__"))
