"""scikit-learn's own checks, with no failure expected that its own GP regressor does not have."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpcommittee import CommitteeRegressor


@pytest.mark.filterwarnings("ignore::gpcommittee.errors.GPCommitteeWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        CommitteeRegressor(max_evaluations=20, n_jobs=1),
        CommitteeRegressor(kernel="matern32", expert_size=9, partition="kmeans", max_evaluations=5, n_jobs=1),
    ]
)
def test_sklearn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
