"""Data at the door: tables in and out, checks, scaling."""

from gpcommittee.data._moments import PartMoments, part_moments
from gpcommittee.data.columns import plan_columns
from gpcommittee.data.dates import date_parts, warn_constant_dates
from gpcommittee.data.plan import ColumnPlan
from gpcommittee.data.predicted import PREDICTION_COLUMNS, prediction_columns
from gpcommittee.data.rows import Rows
from gpcommittee.data.scaling import (
    merged_standardisation,
    restore_mean,
    restore_variance,
    standardisation,
    standardise_inputs,
    standardise_target,
)
from gpcommittee.data.sources import TableSource, open_table
from gpcommittee.data.tables import TableRows, check_table, iter_batches, read_table
from gpcommittee.data.validation import check_finite, check_numeric, check_unmasked
from gpcommittee.data.writing import check_output, write_table

__all__ = [
    "PREDICTION_COLUMNS",
    "ColumnPlan",
    "PartMoments",
    "Rows",
    "TableRows",
    "TableSource",
    "check_finite",
    "check_numeric",
    "check_output",
    "check_table",
    "check_unmasked",
    "date_parts",
    "iter_batches",
    "merged_standardisation",
    "open_table",
    "part_moments",
    "plan_columns",
    "prediction_columns",
    "read_table",
    "restore_mean",
    "restore_variance",
    "standardisation",
    "standardise_inputs",
    "standardise_target",
    "warn_constant_dates",
    "write_table",
]
