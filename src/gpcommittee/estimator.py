"""The scikit-learn facade: it validates and delegates."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gpcommittee._fitted import HELD_OUT
from gpcommittee._held_out import candidates, choose_rule, is_auto, variance_scales
from gpcommittee._input import checked_inputs, unchanged_on_failure
from gpcommittee._model_file import ModelFileMixin
from gpcommittee._on_cluster import cluster_of
from gpcommittee._partitions import PartitionMixin
from gpcommittee._preparation import PreparationMixin
from gpcommittee.aggregation import NPAE, RULES, Neighbourhood, Rule, make_rule
from gpcommittee.aggregation.table import written
from gpcommittee.engines import make_engine, plain_torch
from gpcommittee.errors import BoundWarning, ConvergenceWarning, InvalidParameterError
from gpcommittee.experts import Committee
from gpcommittee.prediction import Request, npae_covariance
from gpcommittee.progress import Reporter
from gpcommittee.records import FloatArray, Prediction
from gpcommittee.training import (
    Trained,
    bound_messages,
    fit_hyperparameters,
    stopping_advice,
    with_own_variances,
)


class CommitteeRegressor(PreparationMixin, PartitionMixin, ModelFileMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian-process regression by a committee of experts.

    Rows are divided among experts, which share one kernel and one noise variance, learned by the experts' likelihood.
    Predictions combine experts by an aggregation rule; the default blends a few experts whose rows lie around the
    point. The paper's own, GRBCM, sums all of them, each augmented with a common random communication set.

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel, optional
        Acts on standardised inputs. A name ("squared_exponential", "matern12", "matern32", "matern52",
        "rational_quadratic") stands for a scaled kernel with one lengthscale per input; a kernel object is copied and
        its present values are the start. "auto", the default: the name that does best by the training's objective on
        some 4,000 rows, 4 to 8 experts. With ``optimizer=None`` the default is "squared_exponential".
    aggregation : str or gpcommittee.aggregation.Rule, default="neighbourhood"
        "neighbourhood", of a few experts on overlapping neighbourhoods of rows, or a rule that sums every expert at
        every point: "poe", "gpoe", "bcm", "rbcm", "grbcm" (the paper's), "most_certain", "entropy_gpoe",
        "softmax_gpoe", "barycenter", "npae" or "communication"; or a rule with its own settings. "auto": the one of
        these, NPAE aside, with the best MSLL on up to 1,000 rows that are held out of the experts for it and given
        back; "neighbourhood" with fewer than 100 rows. Neighbourhoods need experts of neighbouring rows, so not a
        random partition.
    n_experts : int, optional
        Number of experts, the communication expert included.
    expert_size : int, optional
        Rows per expert, instead of ``n_experts``. Default: 1,000 up to 20,000 rows, falling to 500 at 40,000.
    communication_size : int, optional
        Rows in the communication set. Default: as many as in an expert where ``n_experts`` or ``expert_size`` is given;
        otherwise 2,000 up to 20,000 rows, falling to 500 at 80,000, and at most a fifth of the rows.
    partition : {"tree", "kmeans", "random"} or array of int, shape (n_rows,), default="tree"
        How rows are divided, or the expert of each row, 0 being the communication set.
    partition_metric : {"learned", "standardised"}, default="learned"
        In which distance "tree" and "kmeans" divide rows. "learned": lengthscales are learned on a few experts first,
        and rows are divided again with the inputs divided by them; the communication set stays the same.
    objective : {"factorised", "conditional"}, default="factorised"
        Likelihood by which the hyperparameters are learned: of experts that are independent, as in the paper, or
        independent given the communication set, as GRBCM takes them to be. The second is dearer, several times with a
        communication set as large as an expert and more with a larger one.
    expert_variances : {"shared", "own"}, default="shared"
        "own": after the training every expert but the communication expert learns a signal variance and a noise
        variance of its own, multiples of the shared ones, from what its rows say that the communication rows do not.
        Predictions then know where the target is noisy and where it is rough.
    noise_variance : float, default=0.1
        Start of the noise variance, as a share of the target's variance; its value if ``optimizer`` is None.
    optimizer : {"l-bfgs-b", None}, default="l-bfgs-b"
        None keeps the given hyperparameters.
    max_evaluations : int, default=100
        Most evaluations of the objective, in each stage of the training.
    training_experts : int, "auto" or "all", default="auto"
        Experts that the hyperparameters are learned on. "auto": on more and more, from a few, until more would not
        improve the objective by a thousandth of a nat per row. The communication expert is always among them.
    random_state : int, RandomState instance or None, default=None
        Decides the partition, and which experts the hyperparameters are learned on; nothing else is random.
    n_jobs : int, optional
        Worker threads, each with one BLAS thread; the numbers do not depend on it. None: as many threads as PyTorch
        may use in this process; -1: all processors. No matter on CUDA.
    device : str or torch.device, optional
        On "cuda" experts are computed in batches, with the same numbers to rounding. Default: "cpu".
    dtype : {"float64", "float32"}, default="float64"
    memory_budget : float, optional
        GiB that the experts' factors may take; beyond it they are computed again for every call. Default: half of the
        machine's memory, or of the device's own.
    calibration : {"held_out", "loo", None}, default="held_out"
        "loo": multiply variances by mean squared standardised leave-one-out errors, with "neighbourhood" of the rows
        nearest to the point, with other rules of the experts that the prediction rests on. "held_out": multiply them
        also by one number for each rule, the mean squared standardised error of its predictions of up to 1,000 rows
        that are left out one by one ("neighbourhood") or held out of all experts together (other rules). None:
        variances as the aggregation rule gives them.
    checkpoint : path-like, optional
        File that logs the objective's evaluations; a fit that was interrupted is resumed by fitting again.
    engine : dask.distributed.Client, optional
        Cluster on which experts are computed, with the same numbers as on one machine; it takes Dask DataFrames, Dask
        arrays and Parquet files as well as arrays. ``device`` is then every worker's, and ``n_jobs`` has no effect.
        Neither clones nor model files nor pickles hold a copy of it. Default: this process.
    verbose : int, default=0
        1 shows progress on standard error.

    Attributes
    ----------
    committee_ : gpcommittee.experts.Committee
        Standardised data, kernel and hyperparameters.
    kernel_ : gpytorch.kernels.Kernel
        The kernel with the learned parameters.
    kernel_name_ : str
        Its name: what "auto" chose, or the name given; of a kernel object its class.
    kernel_scores_ : dict of str to gpcommittee.records.KernelScore
        How every kernel did on the same rows; empty unless "auto" chose.
    noise_variance_ : float
        Learned noise variance, as a share of the target's variance; the shared one.
    expert_variances_ : gpcommittee.records.OwnVariances or None
        Signal and noise variances of every expert as multiples of the shared ones; None where they are shared.
    hyperparameters_ : dict of str to ndarray
        Kernel parameters in natural units and the noise variance.
    partition_ : Partition
        Rows of each expert.
    scaling_ : Standardisation
        Training means and scales.
    training_ : TrainingRecord or None
        What the optimiser did; None if it was off.
    aggregation_ : str or Rule
        The rule of the fit: what "auto" chose, or ``aggregation`` as it was.
    aggregation_scores_ : dict of str to gpcommittee.metrics.ScoreReport
        Scores of every rule on the held-out rows; empty unless "auto" chose by them.
    variance_scales_ : dict of Rule to float
        By which each rule's variances are multiplied with ``calibration="held_out"``, of the rules measured so far:
        that of the fit unless it is NPAE, and all that "auto" compared; another is measured when it is first asked for.
        Other rules than "neighbourhood" have none with one expert, whose leave-one-out errors say it all.
    conformal_ : gpcommittee.conformal.ConformalScores or None
        What ``conformalize`` found; None before.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if all column names of ``X`` were strings.

    References
    ----------
    Liu, Cai, Wang and Ong (2018), "Generalized robust Bayesian committee machine for large-scale Gaussian process
    regression", ICML.

    Examples
    --------
    >>> from gpcommittee import CommitteeRegressor
    >>> from gpcommittee.datasets import make_toy
    >>> toy = make_toy(600, seed=0)
    >>> model = CommitteeRegressor(expert_size=100, random_state=0).fit(toy.X, toy.y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> float(mean.round(1)[0]), float(std.round(1)[0])
    (1.5, 0.5)
    """

    def __init__(
        self,
        kernel: str | Kernel | None = None,
        *,
        aggregation: str | Rule = "neighbourhood",
        n_experts: int | None = None,
        expert_size: int | None = None,
        communication_size: int | None = None,
        partition: str | ArrayLike = "tree",
        partition_metric: str = "learned",
        objective: str = "factorised",
        expert_variances: str = "shared",
        noise_variance: float = 0.1,
        optimizer: str | None = "l-bfgs-b",
        max_evaluations: int = 100,
        training_experts: int | str = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        device: str | torch.device | None = None,
        dtype: str = "float64",
        memory_budget: float | None = None,
        calibration: str | None = HELD_OUT,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.aggregation = aggregation
        self.n_experts = n_experts
        self.expert_size = expert_size
        self.communication_size = communication_size
        self.partition = partition
        self.partition_metric = partition_metric
        self.objective = objective
        self.expert_variances = expert_variances
        self.noise_variance = noise_variance
        self.optimizer = optimizer
        self.max_evaluations = max_evaluations
        self.training_experts = training_experts
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.dtype = dtype
        self.memory_budget = memory_budget
        self.calibration = calibration
        self.checkpoint = checkpoint
        self.engine = engine
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> CommitteeRegressor:
        """Divide the rows among experts and learn the hyperparameters.

        Parameters
        ----------
        X : array-like or data frame, shape (n_rows, n_features)
            With a cluster as ``engine`` also a Dask DataFrame, a Dask array, or the path of a Parquet file, of a folder
            of them, or a list of paths, which the workers read.
        y : array-like, shape (n_rows,) or (n_rows, 1)
            Of a table on a cluster the name of its target, of a Dask array another one.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If the data are not finite numbers of matching shapes.
        InvalidTypeError
            If the data are of a type that cannot be numbers, such as a sparse matrix.
        InvalidParameterError
            If a setting is not allowed.
        NotPositiveDefiniteError
            If an expert's covariance cannot be factored at the start.
        CheckpointError
            If the checkpoint belongs to another fit, is no checkpoint, or cannot be read or written.
        MissingDependencyError, WorkerError
            If Dask is not installed; if work on a cluster failed for good.

        Warns
        -----
        BoundWarning
            If a hyperparameter ended on a bound of its search range.
        ConvergenceWarning
            If training stopped before it converged.
        """
        if not is_auto(self.aggregation):
            self._suiting(make_rule(self.aggregation))
        options = self._fit_options()
        cluster, reporter = cluster_of(self.engine), self._reporter()
        engine = make_engine(self.n_jobs, self._device())
        with unchanged_on_failure(self), plain_torch():
            prepared, scaling = self._prepared(X, y, options, engine, reporter, cluster)
            hyperparameters, trained = fit_hyperparameters(prepared)
            rows = prepared.rows
            committee, sharded = rows.with_hyperparameters(hyperparameters), getattr(rows, "sharded", None)
            if self.expert_variances == "own" and isinstance(committee, Committee):
                committee = with_own_variances(committee, engine, reporter)
            record = None if trained is None else trained.record
            self._set_fitted(committee, rows.partition, scaling, record, self.aggregation, sharded)
            self.kernel_name_, self.kernel_scores_ = prepared.kernel_name, dict(prepared.kernel_scores)
            self._learn_from_held_out_rows(reporter)
        if trained is not None:
            self._warn(trained)
        return self

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        aggregation: str | Rule | None = None,
        include_noise: bool = True,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict the mean, and on request the standard deviation, at new points.

        Parameters
        ----------
        X : array-like or data frame, shape (n_points, n_features)
        return_std : bool, default=False
        aggregation : str or Rule, optional
            Any rule, without fitting again. Default: the estimator's own.
        include_noise : bool, default=True
            Standard deviation of a new observation; otherwise of the function value.

        Returns
        -------
        mean : ndarray, shape (n_points,)
        std : ndarray, shape (n_points,)
            Only if ``return_std``.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidInputError
            If the points are not finite numbers in the columns of the fit.
        InvalidTypeError
            If the points are of a type that cannot be numbers, such as a sparse matrix.
        InvalidParameterError
            If the rule is unknown, or a setting was changed to one that is not allowed.
        NotPositiveDefiniteError
            If no allowed jitter lets an expert's covariance be factored.
        MemoryBudgetError
            If NPAE does not fit the memory budget.

        Warns
        -----
        JitterWarning
            If an expert's covariance needed jitter to be factored.
        PrecisionWarning
            If float32 was asked for and an expert's covariance could be factored in float64 only.
        """
        rule = self.aggregation if aggregation is None else aggregation
        prediction = self._predict(X, [rule], mean_only=not return_std)[0]
        return (prediction.mean, prediction.std(include_noise)) if return_std else prediction.mean

    def predict_rules(self, X: ArrayLike, aggregations: Sequence[str | Rule]) -> list[Prediction]:
        """Predictions of several rules in one pass over the experts.

        Parameters
        ----------
        X : array-like or data frame, shape (n_points, n_features)
        aggregations : sequence of str or Rule

        Returns
        -------
        list of Prediction
            Means and variances, one per rule.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidInputError
            If the points are not finite numbers in the columns of the fit.
        InvalidTypeError
            If the points are of a type that cannot be numbers, such as a sparse matrix.
        InvalidParameterError
            If a rule is unknown, ``aggregations`` is one name instead of a sequence, or a setting was changed to one
            that is not allowed.
        NotPositiveDefiniteError
            If no allowed jitter lets an expert's covariance be factored.
        MemoryBudgetError
            If NPAE does not fit the memory budget.

        Warns
        -----
        JitterWarning
            If an expert's covariance needed jitter to be factored.
        PrecisionWarning
            If float32 was asked for and an expert's covariance could be factored in float64 only.
        """
        return self._predict(X, aggregations, mean_only=False)

    def predict_covariance(
        self, X: ArrayLike, aggregation: str | Rule = "npae", include_noise: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the mean and the covariance between a block of new points.

        Takes the place of ``return_cov`` in scikit-learn's own Gaussian process.

        Parameters
        ----------
        X : array-like or data frame, shape (n_points, n_features)
            All in one block: memory and work grow with its size.
        aggregation : "npae" or NPAE, default="npae"
            The only rule for which the covariance is defined.
        include_noise : bool, default=True
            Add the noise variance to the diagonal: covariance of new observations.

        Returns
        -------
        mean : ndarray, shape (n_points,)
        covariance : ndarray, shape (n_points, n_points)

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidInputError
            If the points are not finite numbers in the columns of the fit.
        InvalidTypeError
            If the points are of a type that cannot be numbers, such as a sparse matrix.
        InvalidParameterError
            If the rule is not NPAE, or a setting was changed to one that is not allowed.
        NotPositiveDefiniteError
            If no allowed jitter lets an expert's covariance be factored.
        MemoryBudgetError
            If the block does not fit the memory budget.

        Warns
        -----
        JitterWarning
            If an expert's covariance needed jitter to be factored.
        PrecisionWarning
            If float32 was asked for and an expert's covariance could be factored in float64 only.
        """
        check_is_fitted(self)
        rule = make_rule(aggregation)
        if not isinstance(rule, NPAE):
            raise InvalidParameterError(
                f"A covariance between points is defined for NPAE alone, got {written(rule)}. Choose 'npae'."
            )
        request = Request(self.committee_, self.scaling_, checked_inputs(self, X))
        store, engine = self._current_store(), self._prediction_engine()
        with plain_torch():
            mean, covariance = npae_covariance(rule, request, store, engine, include_noise=include_noise)
        self._warn_of_numerics(store.in_double, store.largest_jitter, stacklevel=3)
        return mean, self._scales([rule], self._reporter())[0] * covariance

    def _learn_from_held_out_rows(self, reporter: Reporter) -> None:
        """Choose the rule if that is left open, and measure how large its errors are."""
        if not is_auto(self.aggregation):
            rule = make_rule(self.aggregation)
            if not isinstance(rule, NPAE):
                self._scales([rule], reporter)
            return
        names = candidates(self.partition)
        held = self._held_out([RULES[name] for name in names], reporter)
        scales = {} if held is None or self.calibration != HELD_OUT else variance_scales(held)
        chosen = choose_rule(names, held, scales, self.scaling_)
        reporter.message(f"Chose {chosen.name} among {len(names)} rules by held-out rows.")
        self.aggregation_ = chosen.name
        measured = {rule: scale for rule, scale in scales.items() if not isinstance(rule, Neighbourhood)}
        self._set_held_out(dict(chosen.scores), measured)
        self._scales([RULES[chosen.name]], reporter)

    def _warn(self, trained: Trained) -> None:
        names = [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]
        for message in bound_messages(trained.at_lower, trained.at_upper, names):
            warnings.warn(message, BoundWarning, stacklevel=3)
        if not trained.record.converged:
            warnings.warn(
                f"Training stopped before it converged: {trained.record.reason}. {stopping_advice(trained.record)} "
                "The best hyperparameters so far are kept.",
                ConvergenceWarning,
                stacklevel=3,
            )
