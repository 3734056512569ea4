"""What the estimator keeps of a fit, and the predictions that its public methods share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence, Set
from copy import copy
from typing import Any, Self

import numpy as np
from gpytorch.kernels import Kernel
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gpcommittee import _settings as settings
from gpcommittee._held_out import HeldOut, is_auto, left_out_scale, predict_held_out, suits, variance_scales
from gpcommittee._input import checked_inputs
from gpcommittee._on_cluster import (
    cluster_of,
    left_out_scale_on_cluster,
    model_of,
    predict_held_out_on_cluster,
    worker_device,
)
from gpcommittee.aggregation import Neighbourhood, Rule, make_rule
from gpcommittee.choices import check_choice, check_optional_positive
from gpcommittee.cluster import Cluster, ClusterCommittee, Model, ShardedRows, predict_on_cluster, scatter_committee
from gpcommittee.conformal import ConformalScores
from gpcommittee.engines import Engine, make_engine, plain_torch
from gpcommittee.errors import InvalidParameterError, JitterWarning, PrecisionWarning
from gpcommittee.experts import Committee
from gpcommittee.metrics import ScoreReport
from gpcommittee.prediction import FactorStore, factor_budget, predict_rules, scaled
from gpcommittee.progress import Reporter, reporter_for
from gpcommittee.records import (
    FloatArray,
    OwnVariances,
    Partition,
    Prediction,
    Standardisation,
    TrainingRecord,
)

HELD_OUT = "held_out"

CALIBRATIONS = (HELD_OUT, "loo", None)


class FittedState(BaseEstimator):  # type: ignore[misc]
    """The fitted attributes, set in one place, and everything that predicts from them.

    Settings are attributes that the estimator's constructor sets; those named here are the ones that predictions use.
    """

    aggregation: str | Rule
    n_jobs: int | None
    memory_budget: float | None
    calibration: str | None
    verbose: int
    device: Any
    engine: Any

    scaling_: Standardisation
    training_: TrainingRecord | None
    aggregation_: str | Rule
    aggregation_scores_: dict[str, ScoreReport]
    variance_scales_: dict[Rule, float]
    conformal_: ConformalScores | None
    kernel_: Kernel
    noise_variance_: float
    expert_variances_: OwnVariances | None
    hyperparameters_: dict[str, FloatArray]
    _members: Committee | ClusterCommittee
    _partition: Partition | None
    _sharded: ShardedRows | None
    _store: FactorStore | None

    @property
    def committee_(self) -> Committee:
        """Standardised data, kernel and hyperparameters; rows that lie on a cluster are gathered here."""
        members: Committee | ClusterCommittee = self._of_fit("_members", "committee_")
        if isinstance(members, ClusterCommittee):
            self._sharded = members.sharded
            self._partition = self.partition_
            self._members = members = members.gathered()
        return members

    @property
    def partition_(self) -> Partition:
        """Rows of each expert; of rows that came from a cluster's own data, counted expert after expert."""
        members = self._of_fit("_members", "partition_")
        if self._partition is None:
            self._partition = members.partition
        return self._partition

    def _of_fit(self, name: str, public: str) -> Any:
        """A part of a fitted model; scikit-learn and users expect AttributeError where there is none."""
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{public}' before it is fitted.") from None

    def __sklearn_is_fitted__(self) -> bool:
        return "_members" in vars(self)

    def __sklearn_clone__(self) -> Self:
        """A client is not copied: clones share it."""
        bare = copy(self)
        bare.engine = None
        clone: Self = super(FittedState, bare).__sklearn_clone__()
        clone.engine = self.engine
        return clone

    def __getstate__(self) -> dict[str, Any]:
        """Without client and rows on a cluster, which no other process can use; rows are gathered first."""
        if self.__sklearn_is_fitted__():
            _ = self.committee_, self.partition_
        state = {**super().__getstate__(), "engine": None}
        return state if "_sharded" not in state else {**state, "_sharded": None}

    def _set_fitted(
        self,
        committee: Committee | ClusterCommittee,
        partition: Partition | None,
        scaling: Standardisation,
        record: TrainingRecord | None,
        aggregation: str | Rule,
        sharded: ShardedRows | None = None,
    ) -> None:
        """Take the parts of a fitted model, from training or from a file."""
        theta = committee.hyperparameters.kernel
        self._members = committee
        self._partition = partition
        self._sharded = committee.sharded if isinstance(committee, ClusterCommittee) else sharded
        self.scaling_ = scaling
        self.training_ = record
        self.aggregation_ = aggregation
        self._set_held_out({}, {})
        self._set_conformal(None)
        self.kernel_ = committee.kernel.with_parameters(theta)
        self.noise_variance_ = committee.noise_variance
        self.expert_variances_ = committee.own if isinstance(committee, Committee) else None
        noise = np.array(committee.noise_variance)
        self.hyperparameters_ = {**committee.kernel.natural_values(theta), "noise_variance": noise}
        self._store = None if isinstance(committee, ClusterCommittee) else self._new_store(committee)

    def _set_held_out(self, scores: dict[str, ScoreReport], scales: dict[Rule, float]) -> None:
        self.aggregation_scores_ = scores
        self.variance_scales_ = scales

    def _set_conformal(self, conformal: ConformalScores | None) -> None:
        self.conformal_ = conformal

    def _current_store(self) -> FactorStore:
        """The factors kept so far, as long as they do for the present settings."""
        store = self._store
        if store is None or store.calibrated != self._is_calibrated():
            self._store = store = self._new_store(self.committee_)
        store.budget = self._factor_budget(self.committee_)
        return store

    def _is_calibrated(self) -> bool:
        check_choice("calibration", self.calibration, CALIBRATIONS)
        return self.calibration is not None

    def _new_store(self, committee: Committee) -> FactorStore:
        return FactorStore(committee, self._factor_budget(committee), self.calibration is not None)

    def _predict(
        self,
        X: ArrayLike,
        aggregations: Sequence[str | Rule],
        mean_only: bool,
        reporter: Reporter | None = None,
    ) -> list[Prediction]:
        """Predictions of rules, reported as ``verbose`` says or to a reporter."""
        check_is_fitted(self)
        rules = self._rules(aggregations)
        return self._predict_checked(checked_inputs(self, X), rules, mean_only, stacklevel=5, reporter=reporter)

    def _rules(self, aggregations: Sequence[str | Rule]) -> list[Rule]:
        if isinstance(aggregations, str) or not isinstance(aggregations, Iterable):
            raise InvalidParameterError(f"aggregations must be a sequence, such as ['grbcm'], got {aggregations!r}.")
        return [self._suiting(make_rule(self.aggregation_ if is_auto(rule) else rule)) for rule in aggregations]

    def _suiting(self, rule: Rule) -> Rule:
        """The rule, if it can predict from the partition."""
        if not suits(rule, self.partition):
            raise InvalidParameterError(
                "aggregation='neighbourhood' predicts from neighbouring rows, and a random partition scatters them; "
                "fit with partition='tree', or choose aggregation='grbcm'."
            )
        return rule

    def _predict_checked(
        self,
        inputs: FloatArray,
        rules: Sequence[Rule],
        mean_only: bool,
        stacklevel: int,
        reporter: Reporter | None = None,
    ) -> list[Prediction]:
        reporter = reporter or self._reporter()
        scales = None if mean_only else self._scales(rules, reporter)
        cluster = cluster_of(self.engine)
        if cluster is not None:
            predictions = self._predict_on(cluster, inputs, rules, mean_only, reporter, stacklevel + 1)
            return predictions if scales is None else list(map(scaled, predictions, scales))
        store, engine = self._current_store(), self._prediction_engine()
        with plain_torch():
            predictions = predict_rules(store, self.scaling_, inputs, rules, engine, reporter, mean_only=mean_only)
        self._warn_of_numerics(store.in_double, store.largest_jitter, stacklevel)
        return predictions if scales is None else list(map(scaled, predictions, scales))

    def _scales(self, rules: Sequence[Rule], reporter: Reporter) -> list[float]:
        """Factor of each rule's variances; rules that the fit has not measured are measured now."""
        if self.calibration != HELD_OUT:
            return [1.0] * len(rules)
        unknown = [rule for rule in dict.fromkeys(rules) if rule not in self.variance_scales_]
        found: dict[Rule, float] = {
            rule: self._left_out_scale(rule, reporter) for rule in unknown if isinstance(rule, Neighbourhood)
        }
        others = [rule for rule in unknown if not isinstance(rule, Neighbourhood)]
        if others and self._n_experts > 1:
            held = self._held_out(others, reporter)
            found |= dict.fromkeys(others, 1.0) if held is None else variance_scales(held)
        self.variance_scales_ = {**self.variance_scales_, **found}
        return [self.variance_scales_.get(rule, 1.0) for rule in rules]

    def _left_out_scale(self, rule: Neighbourhood, reporter: Reporter) -> float:
        """Factor of the variances of neighbourhood experts, by training rows that are left out one by one."""
        cluster = cluster_of(self.engine)
        if cluster is not None:
            budget = check_optional_positive("memory_budget", self.memory_budget)
            return left_out_scale_on_cluster(self._rows_on(cluster), self._model(), rule, reporter, budget)
        store, engine = self._current_store(), self._prediction_engine()
        with plain_torch():
            return left_out_scale(store, rule, engine, reporter)

    def _held_out(self, rules: Sequence[Rule], reporter: Reporter) -> HeldOut | None:
        """Rows that are held out of the committee, predicted by some rules."""
        cluster = cluster_of(self.engine)
        if cluster is not None:
            budget = check_optional_positive("memory_budget", self.memory_budget)
            return predict_held_out_on_cluster(self._rows_on(cluster), self._model(), rules, reporter, budget)
        store, engine = self._current_store(), self._prediction_engine()
        with plain_torch():
            return predict_held_out(store, self.scaling_, rules, engine, reporter)

    def _predict_on(
        self,
        cluster: Cluster,
        inputs: FloatArray,
        rules: Sequence[Rule],
        mean_only: bool,
        reporter: Reporter,
        stacklevel: int,
    ) -> list[Prediction]:
        budget = check_optional_positive("memory_budget", self.memory_budget)
        answer = predict_on_cluster(
            self._rows_on(cluster),
            self._model(),
            inputs,
            rules,
            reporter,
            mean_only=mean_only,
            memory_budget=budget,
        )
        self._warn_of_numerics(answer.numerics.in_double, answer.numerics.largest_jitter, stacklevel)
        return answer.predictions

    def _rows_on(self, cluster: Cluster) -> ShardedRows:
        """The rows on a cluster: where they are, or sent there now."""
        if self._sharded is None or self._sharded.cluster.client is not cluster.client:
            self._sharded = scatter_committee(cluster, self.committee_, self.scaling_)
        return self._sharded

    def _model(self) -> Model:
        """What workers need to know beside the rows."""
        device = worker_device(self.device)
        return model_of(self._members, self.scaling_, calibrated=self._is_calibrated(), device=device)

    def _warn_of_numerics(self, in_double: Set[int], largest_jitter: float, stacklevel: int) -> None:
        if in_double:
            warnings.warn(
                f"The covariances of {len(in_double)} of {self._n_experts} experts are too close to singular for "
                "float32; these are computed in float64, which takes twice the memory and time.",
                PrecisionWarning,
                stacklevel=stacklevel,
            )
        if largest_jitter > 0:
            warnings.warn(
                f"An expert's covariance needed jitter of {largest_jitter:.1e} of the mean prior variance; "
                "predictions there are slightly smoother than the model says.",
                JitterWarning,
                stacklevel=stacklevel,
            )

    @property
    def _n_experts(self) -> int:
        members = self._members
        return members.sharded.n_experts if isinstance(members, ClusterCommittee) else members.n_experts

    def _reporter(self) -> Reporter:
        return reporter_for(settings.verbosity(self.verbose))

    def _prediction_engine(self) -> Engine:
        return make_engine(self.n_jobs, self.committee_.kernel.device)

    def _factor_budget(self, committee: Committee) -> float:
        budget = check_optional_positive("memory_budget", self.memory_budget)
        return factor_budget(budget, committee.kernel.device)
