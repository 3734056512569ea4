"""The estimator's predictions of partitions that lie on a cluster, each to a file of its own."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gpcommittee._intervals import IntervalMixin
from gpcommittee._on_cluster import cluster_of
from gpcommittee.aggregation import Rule
from gpcommittee.cluster.stream import identity_of, points_together, submitter, to_columns
from gpcommittee.data import PREDICTION_COLUMNS, ColumnPlan
from gpcommittee.distributed import RowSource, Streamed, open_points, stream_predictions
from gpcommittee.errors import InvalidParameterError
from gpcommittee.metrics import half_width_in_deviations


class PartitionMixin(IntervalMixin):
    """The method that predicts partitions, to be inherited by the estimator."""

    def predict_partitions(
        self,
        X: Any,
        folder: str | os.PathLike[str],
        aggregation: str | Rule | None = None,
        *,
        level: float = 0.95,
        include_noise: bool = True,
        drop_missing: bool = False,
    ) -> Streamed:
        """Predict points that lie on a cluster, every partition to a Parquet file that a worker writes.

        The columns are mean, std, lower and upper. A run that was interrupted goes on when it is run again: files that
        are there, of the same model, question and partitions, are kept.

        Parameters
        ----------
        X : Dask DataFrame, Dask array, or path of Parquet files
            As in ``fit``; columns of a table are found by name.
        folder : path-like
            Where the files go. All workers and this process must see it by this name.
        aggregation : str or Rule, optional
            Default: the estimator's own.
        level : float, default=0.95
            Probability of the interval from lower to upper, as in ``predict_interval``.
        include_noise : bool, default=True
            Standard deviation and interval of a new observation; otherwise of the function value, Gaussian always.
        drop_missing : bool, default=False
            Leave the predictions of incomplete rows empty instead of refusing them.

        Returns
        -------
        Streamed
            How many files and rows were written and kept.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InvalidParameterError
            If ``engine`` is no client, the folder cannot be used, or as in ``predict_interval``.
        InvalidInputError, InvalidTypeError
            If the points cannot be used.
        NotPositiveDefiniteError, MemoryBudgetError
            As in ``predict``.
        WorkerError
            If a partition could not be read, predicted or written.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        plan = None if names is None else ColumnPlan(tuple(map(str, names)))
        source = open_points(X, plan, self.n_features_in_, drop_missing=drop_missing)
        return predict_source(self, source, folder, aggregation, level=level, include_noise=include_noise)


def predict_source(
    model: PartitionMixin,
    source: RowSource,
    folder: str | os.PathLike[str],
    aggregation: str | Rule | None,
    *,
    level: float,
    include_noise: bool,
) -> Streamed:
    """The same of points whose columns are found already.

    Parameters
    ----------
    model : CommitteeRegressor
    source : RowSource
    folder, aggregation, level, include_noise
        As in ``predict_partitions``.

    Returns
    -------
    Streamed
    """
    cluster = cluster_of(model.engine)
    if cluster is None:
        raise InvalidParameterError(
            "Partitions are predicted on a cluster; pass its client: set_params(engine=client)."
        )
    known = model.interval_half_width(level, aggregation) if include_noise else half_width_in_deviations(level)
    rule = model._rules([model.aggregation if aggregation is None else aggregation])[0]
    rows, told = model._rows_on(cluster), model._model()
    scale = model._scales([rule], model._reporter())[0]
    return stream_predictions(
        cluster.client,
        source,
        folder,
        submit=submitter(rows, told, rule, model.memory_budget),
        to_columns=partial(to_columns, deviations=known, scale=scale, include_noise=include_noise),
        columns=PREDICTION_COLUMNS,
        model=identity_of(rows, told, rule, known, scale, include_noise),
        reporter=model._reporter(),
        batch_points=points_together(rule),
    )
