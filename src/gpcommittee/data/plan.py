"""The column plan: which columns are features and how they become numbers, the same at fit and at predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpcommittee.data._wording import quoted
from gpcommittee.data.dates import TIMESTAMP_PARTS
from gpcommittee.errors import InvalidInputError


@dataclass(frozen=True)
class ColumnPlan:
    """Columns of a table that a model uses, in the model's order.

    Attributes
    ----------
    features : tuple of str
        Source columns, dates unexpanded.
    target : str or None
    dates : mapping of str to tuple of str
        Parts (year, month, day, hour, minute) that each expanded date column gives.
    zoned : mapping of str to bool
        Whether the times of an expanded column have a time zone, where that is known; other tables are compared.

    Examples
    --------
    >>> plan = ColumnPlan(features=("when", "load"), target="power", dates={"when": ("year", "month")})
    >>> plan.feature_names
    ('when_year', 'when_month', 'load')
    >>> ColumnPlan.from_dict(plan.to_dict()) == plan
    True
    """

    features: tuple[str, ...]
    target: str | None = None
    dates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zoned: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.features:
            raise InvalidInputError("No feature columns are left; name at least one column besides the target.")
        if self.target in self.features:
            raise InvalidInputError(f"Column {self.target!r} is the target and cannot be a feature too.")
        outside = [name for name in self.dates if name not in self.features]
        if outside:
            raise InvalidInputError(f"Dates to expand must be features, but {quoted(outside)} is not among them.")
        _refuse_repeats("Features", self.features)
        _refuse_repeats("After date expansion, features", self.feature_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the numeric features, dates expanded: column ``when`` gives ``when_year`` and so on."""
        return tuple(name for column in self.features for name in self.names_of(column))

    @property
    def date_features(self) -> tuple[str, ...]:
        """Those of the feature names that come from dates."""
        return tuple(name for column in self.features if column in self.dates for name in self.names_of(column))

    def names_of(self, column: str) -> tuple[str, ...]:
        """Names of the numeric features that one source column gives."""
        parts = self.dates.get(column)
        return (column,) if parts is None else tuple(f"{column}_{part}" for part in parts)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain JSON types."""
        return {
            "features": list(self.features),
            "target": self.target,
            "dates": {column: list(parts) for column, parts in self.dates.items()},
            "zoned": dict(self.zoned),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ColumnPlan:
        """The plan that `to_dict` wrote; one without `zoned` is of an older file.

        Raises
        ------
        InvalidInputError
            Content that is not a column plan.
        """
        try:
            dates = {column: tuple(parts) for column, parts in content["dates"].items()}
            plan = cls(tuple(content["features"]), content["target"], dates, dict(content.get("zoned", {}).items()))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"Not a column plan: {content!r}. Expected features, target and dates.") from error
        _check_content(plan)
        return plan


def _refuse_repeats(what: str, names: Sequence[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{what} repeat {quoted(twice)}; each name may appear once. Rename the columns.")


def _check_content(plan: ColumnPlan) -> None:
    parts = {part for column in plan.dates.values() for part in column}
    texts = (*plan.features, *(() if plan.target is None else (plan.target,)))
    if not all(isinstance(name, str) for name in texts) or not parts <= set(TIMESTAMP_PARTS):
        raise InvalidInputError(f"Not a column plan: {plan}. Expected text names and date parts of {TIMESTAMP_PARTS}.")
