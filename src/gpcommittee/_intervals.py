"""The estimator's prediction intervals: Gaussian, or with a conformal guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gpcommittee._fitted import FittedState
from gpcommittee._input import checked_observations
from gpcommittee.aggregation import Rule
from gpcommittee.conformal import conformal_quantile, conformal_scores
from gpcommittee.metrics import half_width_in_deviations
from gpcommittee.records import FloatArray


class IntervalMixin(FittedState):
    """The methods that give intervals, to be inherited by the estimator."""

    def conformalize(self, X: ArrayLike, y: ArrayLike, aggregations: Sequence[str | Rule] | None = None) -> Self:
        """Give ``predict_interval`` a guarantee, by the errors at rows that the fit has not seen.

        An interval then holds a new observation with probability at least its level, if these rows and the new one are
        exchangeable: drawn alike, whatever the distribution and however wrong the model. The probability is over the
        draw of both, on average over inputs, not at each of them. Predictions themselves stay the same. Fitting again
        takes the guarantee away.

        Parameters
        ----------
        X : array-like or data frame, shape (n_rows, n_features)
            Not rows of the fit: a model's errors at its own rows are too small, and there is no guarantee by them.
            At least level / (1 - level) rows for intervals of a level: 19 for 0.95, 99 for 0.99. With few rows
            intervals vary much with the draw of these; a thousand are usual.
        y : array-like, shape (n_rows,) or (n_rows, 1)
        aggregations : sequence of str or Rule, optional
            Rules for which intervals can be asked, all in one pass. Default: the estimator's own alone.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidInputError, InvalidTypeError
            If the rows are not finite numbers of matching shapes in the columns of the fit.
        InvalidParameterError
            As in ``predict_rules``.
        NotPositiveDefiniteError
            If no allowed jitter lets an expert's covariance be factored.
        MemoryBudgetError
            If NPAE does not fit the memory budget.

        References
        ----------
        Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), "Distribution-free predictive inference for regression",
        JASA.
        """
        check_is_fitted(self)
        inputs, target = checked_observations(self, X, y)
        rules = self._rules([self.aggregation] if aggregations is None else aggregations)
        predictions = self._predict_checked(inputs, rules, mean_only=False, stacklevel=4)
        self._set_conformal(conformal_scores(rules, predictions, target, self.calibration))
        return self

    def predict_interval(
        self, X: ArrayLike, level: float = 0.95, aggregation: str | Rule | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Predict the central interval of a new observation at new points.

        Conformal after ``conformalize``, with the guarantee given there; Gaussian before.

        Parameters
        ----------
        X : array-like or data frame, shape (n_points, n_features)
        level : float, default=0.95
            Probability of the interval, strictly between 0 and 1.
        aggregation : str or Rule, optional
            Default: the estimator's own. After ``conformalize``, one of the rules given there.

        Returns
        -------
        lower, upper : ndarray, shape (n_points,)

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidInputError, InvalidTypeError
            As in ``predict``.
        InvalidParameterError
            As in ``predict``, and if the level is outside (0, 1). After ``conformalize`` also if there were too few
            rows for the level, no scores of the rule, or ``calibration`` has changed since.
        NotPositiveDefiniteError, MemoryBudgetError
            As in ``predict``.
        """
        deviations = self.interval_half_width(level, aggregation)
        rule = self.aggregation if aggregation is None else aggregation
        prediction = self._predict(X, [rule], mean_only=False)[0]
        half_width = deviations * prediction.std(include_noise=True)
        return prediction.mean - half_width, prediction.mean + half_width

    def interval_half_width(self, level: float = 0.95, aggregation: str | Rule | None = None) -> float:
        """Half the width of the intervals that ``predict_interval`` returns, in standard deviations.

        Parameters
        ----------
        level : float, default=0.95
        aggregation : str or Rule, optional
            As in ``predict_interval``.

        Returns
        -------
        float
            1.96 at 0.95 before ``conformalize``; after it, more where the model is overconfident.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidParameterError
            As in ``predict_interval``.
        """
        check_is_fitted(self)
        gaussian = half_width_in_deviations(level)
        if self.conformal_ is None:
            return gaussian
        self.conformal_.check_calibration(self.calibration)
        rule = self._rules([self.aggregation if aggregation is None else aggregation])[0]
        return conformal_quantile(self.conformal_.of(rule), level)
