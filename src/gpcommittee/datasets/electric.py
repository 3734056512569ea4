"""electric: household power consumption by the minute (section 4.3 of the paper)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from gpcommittee.data import ColumnPlan, TableRows, open_table, read_table
from gpcommittee.data.dates import TIMESTAMP_PARTS
from gpcommittee.datasets.files import find_file
from gpcommittee.datasets.regression import RegressionData, random_split
from gpcommittee.errors import InvalidInputError

MEASUREMENTS = (
    "Global_reactive_power",
    "Voltage",
    "Global_intensity",
    "Sub_metering_1",
    "Sub_metering_2",
    "Sub_metering_3",
)
TARGET = "Global_active_power"
FEATURE_NAMES = (*TIMESTAMP_PARTS, *MEASUREMENTS)

_PLAN = ColumnPlan(("date_time", *MEASUREMENTS), TARGET, {"date_time": TIMESTAMP_PARTS})
_NAMES = ("household_power.parquet", "household_power_consumption.txt")
_ADVICE = (
    "Download it from the UCI repository, https://archive.ics.uci.edu/dataset/235/individual+household+electric+power+"
    "consumption, and unpack household_power_consumption.txt."
)
_NOTE = (
    "{n_train} training and {n_test} test rows drawn with seed {seed}, rows with missing values left out; the paper "
    "has 1,800,000 and 249,280 but does not say which."
)


def load_electric(
    path: str | os.PathLike[str] | None = None, *, n_train: int = 1_800_000, seed: int = 0
) -> RegressionData:
    """Load electric: date, time and six measurements (11 inputs), the active power in kW as target, split at random.

    Parameters
    ----------
    path : path, optional
        household_power_consumption.txt as UCI gives it, or household_power.parquet (columns date_time,
        Global_active_power and the six measurements), or their folder; the folder in the environment variable
        GPCOMMITTEE_DATA by default.
    n_train : int, default=1_800_000
        Training rows, as in the paper; the others (about 249,280) are for testing.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    RegressionData
        Inputs year, month, day, hour, minute, Global_reactive_power (kW), Voltage (V), Global_intensity (A) and
        Sub_metering_1 to 3 (Wh).

    Raises
    ------
    DatasetNotFoundError
        The file is not there; the message says where to get it.
    InvalidInputError
        A file with other content.
    InvalidParameterError
        `n_train` that leaves no training or no test row.

    References
    ----------
    Hebrail and Berard, Individual Household Electric Power Consumption, UCI Machine Learning Repository, 2006.
    """
    file = find_file(path, _NAMES, _ADVICE)
    rows = _read_uci(file) if file.suffix == ".txt" else read_table(open_table(file), _PLAN, drop_missing=True)
    y = np.empty(0) if rows.y is None else rows.y
    note = _NOTE.format(n_train=n_train, n_test=len(y) - n_train, seed=seed)
    return random_split("electric", rows.X, y, FEATURE_NAMES, n_train=n_train, seed=seed, note=note)


def _read_uci(file: Path) -> TableRows:
    """The semicolon-separated original: Date as 16/12/2006, Time as 17:24:00, a question mark where missing."""
    names = ("Date", "Time", TARGET, *MEASUREMENTS)
    types = {name: pa.string() if name in ("Date", "Time") else pa.float64() for name in names}
    try:
        table = csv.read_csv(
            file,
            parse_options=csv.ParseOptions(delimiter=";"),
            convert_options=csv.ConvertOptions(include_columns=names, column_types=types, null_values=["?", ""]),
        )
        moments = pc.binary_join_element_wise(table["Date"], table["Time"], " ")
        stamps = pc.strptime(moments, format="%d/%m/%Y %H:%M:%S", unit="s")
    except (ValueError, KeyError) as error:
        raise InvalidInputError(f"{file.name!r} is not UCI's file of household power: {error}.") from error
    frame = table.drop_columns(["Date", "Time"]).append_column("date_time", stamps)
    return read_table(open_table(frame), _PLAN, drop_missing=True)
