"""What the estimator keeps of a fit, and the predictions that its public methods share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpytorch.kernels import Kernel
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gpcommittee import _settings as settings
from gpcommittee._held_out import is_auto, predict_held_out, variance_scales
from gpcommittee._input import checked_inputs
from gpcommittee.aggregation import Rule, make_rule
from gpcommittee.choices import check_choice, check_not_negative, check_optional_positive
from gpcommittee.conformal import ConformalScores
from gpcommittee.engines import Engine, make_engine, plain_torch
from gpcommittee.errors import InvalidParameterError, JitterWarning, PrecisionWarning
from gpcommittee.experts import Committee
from gpcommittee.metrics import ScoreReport
from gpcommittee.partition import DISTANCE_PARTITIONERS
from gpcommittee.prediction import FactorStore, factor_budget, predict_rules, resolve_nearest, scaled
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
    tolerance: float
    nearest_experts: int | str
    partition: Any
    verbose: int

    committee_: Committee
    partition_: Partition
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
    _store: FactorStore

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def _set_fitted(
        self,
        committee: Committee,
        partition: Partition,
        scaling: Standardisation,
        record: TrainingRecord | None,
        aggregation: str | Rule,
        scores: dict[str, ScoreReport],
        scales: dict[Rule, float],
    ) -> None:
        """Take the parts of a fitted model, from training or from a file."""
        theta = committee.hyperparameters.kernel
        self.committee_ = committee
        self.partition_ = partition
        self.scaling_ = scaling
        self.training_ = record
        self.aggregation_ = aggregation
        self.aggregation_scores_ = scores
        self.variance_scales_ = scales
        self._set_conformal(None)
        self.kernel_ = committee.kernel.with_parameters(theta)
        self.noise_variance_ = committee.noise_variance
        self.expert_variances_ = committee.own
        noise = np.array(committee.noise_variance)
        self.hyperparameters_ = {**committee.kernel.natural_values(theta), "noise_variance": noise}
        self._store = self._new_store(committee)

    def _set_conformal(self, conformal: ConformalScores | None) -> None:
        self.conformal_ = conformal

    def _current_store(self) -> FactorStore:
        """The factors kept so far, as long as they do for the present settings."""
        check_choice("calibration", self.calibration, CALIBRATIONS)
        if self._store.calibrated != (self.calibration is not None):
            self._store = self._new_store(self.committee_)
        self._store.budget = self._factor_budget(self.committee_)
        return self._store

    def _new_store(self, committee: Committee) -> FactorStore:
        return FactorStore(committee, self._factor_budget(committee), self.calibration is not None)

    def _predict(self, X: ArrayLike, aggregations: Sequence[str | Rule], mean_only: bool) -> list[Prediction]:
        check_is_fitted(self)
        rules = self._rules(aggregations)
        return self._predict_checked(checked_inputs(self, X), rules, mean_only, stacklevel=5)

    def _rules(self, aggregations: Sequence[str | Rule]) -> list[Rule]:
        if isinstance(aggregations, str):
            raise InvalidParameterError(f"aggregations must be a sequence, such as [{aggregations!r}].")
        return [make_rule(self.aggregation_ if is_auto(rule) else rule) for rule in aggregations]

    def _predict_checked(
        self, inputs: FloatArray, rules: Sequence[Rule], mean_only: bool, stacklevel: int
    ) -> list[Prediction]:
        store = self._current_store()
        engine, reporter = self._prediction_engine(), self._reporter()
        tolerance, n_nearest = check_not_negative("tolerance", self.tolerance), self._n_nearest(self.committee_)
        with plain_torch():
            predictions = predict_rules(
                store,
                self.scaling_,
                inputs,
                rules,
                engine,
                reporter,
                mean_only=mean_only,
                tolerance=tolerance,
                n_nearest=n_nearest,
            )
        self._warn_of_numerics(stacklevel)
        if mean_only:
            return predictions
        scales = self._scales(rules, engine, reporter)
        return [scaled(found, scale) for found, scale in zip(predictions, scales, strict=True)]

    def _scales(self, rules: Sequence[Rule], engine: Engine, reporter: Reporter) -> list[float]:
        """Factor of each rule's variances; rules that the fit has not measured are measured now."""
        if self.calibration != HELD_OUT or self.committee_.n_experts == 1:
            return [1.0] * len(rules)
        unknown = [rule for rule in dict.fromkeys(rules) if rule not in self.variance_scales_]
        if unknown:
            with plain_torch():
                n_nearest = self._n_nearest(self.committee_)
                held = predict_held_out(self._current_store(), self.scaling_, unknown, engine, reporter, n_nearest)
            found = dict.fromkeys(unknown, 1.0) if held is None else variance_scales(held)
            self.variance_scales_ = {**self.variance_scales_, **found}
        return [self.variance_scales_[rule] for rule in rules]

    def _n_nearest(self, committee: Committee) -> int | None:
        """How many of the nearest experts predictions sum; None for all."""
        nearest = settings.nearest_experts(self.nearest_experts, self.partition)
        by_distance = isinstance(self.partition, str) and self.partition in DISTANCE_PARTITIONERS
        return resolve_nearest(nearest, committee.n_experts, by_distance=by_distance, tolerance=self.tolerance)

    def _warn_of_numerics(self, stacklevel: int) -> None:
        store = self._store
        if store.in_double:
            warnings.warn(
                f"The covariances of {len(store.in_double)} of {store.committee.n_experts} experts are too close to "
                "singular for float32; these are computed in float64, which takes twice the memory and time.",
                PrecisionWarning,
                stacklevel=stacklevel,
            )
        if store.largest_jitter > 0:
            warnings.warn(
                f"An expert's covariance needed jitter of {store.largest_jitter:.1e} of the mean prior variance; "
                "predictions there are slightly smoother than the model says.",
                JitterWarning,
                stacklevel=stacklevel,
            )

    def _reporter(self) -> Reporter:
        return reporter_for(settings.verbosity(self.verbose))

    def _prediction_engine(self) -> Engine:
        return make_engine(self.n_jobs, self.committee_.kernel.device)

    def _factor_budget(self, committee: Committee) -> float:
        budget = check_optional_positive("memory_budget", self.memory_budget)
        return factor_budget(budget, committee.kernel.device)
