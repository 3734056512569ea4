"""Arrow columns to float64 arrays, NaN where a value is missing."""

from __future__ import annotations

import pyarrow as pa

from gpcommittee.data.dates import date_parts
from gpcommittee.data.plan import ColumnPlan
from gpcommittee.records import FloatArray


def numbers_of(column: pa.Array, name: str, plan: ColumnPlan) -> list[FloatArray]:
    """The numeric features that one source column of the plan gives, a list of arrays of shape (n_rows,)."""
    parts = plan.dates.get(name)
    return [as_float64(column)] if parts is None else date_parts(column, parts, name)


def as_float64(column: pa.Array) -> FloatArray:
    """Numbers or booleans as float64, each rounded to the nearest; NaN where missing.

    Examples
    --------
    >>> as_float64(pa.array([True, None]))
    array([ 1., nan])
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        # Through text: Arrow's direct cast may be one rounding off, and a CSV file must give the same number.
        column = column.cast(pa.string())
    values: FloatArray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values
