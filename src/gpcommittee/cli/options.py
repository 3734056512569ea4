"""Options that several commands share, and the names that may be chosen."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

MACHINE = "Machine"

FLAG = " "
"""Metavariable of options that take no value; without it help would show a type."""

Name = TypeVar("Name", bound=StrEnum)


class KernelName(StrEnum):
    """Kernels by name; "auto" is the one that a fit is to choose."""

    SQUARED_EXPONENTIAL = "squared_exponential"
    MATERN12 = "matern12"
    MATERN32 = "matern32"
    MATERN52 = "matern52"
    RATIONAL_QUADRATIC = "rational_quadratic"
    AUTO = "auto"


class AggregationName(StrEnum):
    """Aggregation rules by name; "auto" is the one that a fit chose, or is to choose."""

    NEIGHBOURHOOD = "neighbourhood"
    GRBCM = "grbcm"
    RBCM = "rbcm"
    BCM = "bcm"
    GPOE = "gpoe"
    MOST_CERTAIN = "most_certain"
    ENTROPY_GPOE = "entropy_gpoe"
    SOFTMAX_GPOE = "softmax_gpoe"
    BARYCENTER = "barycenter"
    POE = "poe"
    NPAE = "npae"
    COMMUNICATION = "communication"
    AUTO = "auto"


class PartitionName(StrEnum):
    """Partitions by name."""

    TREE = "tree"
    KMEANS = "kmeans"
    RANDOM = "random"


class MetricName(StrEnum):
    """Distances in which rows are divided, by name."""

    LEARNED = "learned"
    STANDARDISED = "standardised"


class ObjectiveName(StrEnum):
    """Objectives of the training by name."""

    FACTORISED = "factorised"
    CONDITIONAL = "conditional"


class VariancesName(StrEnum):
    """Whether experts have variances of their own."""

    SHARED = "shared"
    OWN = "own"


class CalibrationName(StrEnum):
    """Ways to calibrate variances, by name."""

    HELD_OUT = "held_out"
    LOO = "loo"
    NONE = "none"


class DtypeName(StrEnum):
    """Precisions by name."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


def listed(names: type[StrEnum]) -> str:
    """All names of a choice, for help."""
    return ", ".join(names)


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at the name that was probably meant, or nothing.

    Examples
    --------
    >>> nearest("matern3", KernelName)
    ' Did you mean matern32?'
    """
    close = get_close_matches(name.lower(), [str(known) for known in names], n=1)
    return f" Did you mean {close[0]}?" if close else ""


def one_of(names: type[Name]) -> Callable[[str], Name]:
    """A parser that takes a choice by its name."""

    def parse(text: str) -> Name:
        if text not in list(names):
            raise typer.BadParameter(f"{str(text)!r} is none of {listed(names)}.{nearest(text, names)}")
        return names(text)

    return parse


def some_experts(text: str) -> str:
    """A number of experts, "auto" or "all"."""
    if text not in ("auto", "all") and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise typer.BadParameter(f"{text!r} is neither a number of at least 1 nor auto nor all.")
    return text


def count_or_name(text: str) -> int | str:
    """A number where the text is one.

    Examples
    --------
    >>> count_or_name("40"), count_or_name("auto")
    (40, 'auto')
    """
    return int(text) if text.isdigit() else text


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Column names from a comma-separated list; a name that holds a comma is put in double quotes.

    Examples
    --------
    >>> split_names('x1, "width, mm"')
    ('x1', 'width, mm')
    """
    return None if text is None else tuple(next(csv.reader([text], skipinitialspace=True), ()))


def positive(value: float | None) -> float | None:
    """Refuse a number that is not above 0."""
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value} is not a finite number above 0.")
    return value


def share(value: float) -> float:
    """Refuse a number outside 0 to 1."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value} does not lie between 0 and 1.")
    return value


def not_zero(value: int | None) -> int | None:
    """Refuse 0."""
    if value == 0:
        raise typer.BadParameter("0 is not allowed; 1 is one thread, -1 all processors.")
    return value


def cluster_name(text: str | None) -> str | None:
    """Refuse what is neither an address nor a number of local workers.

    Examples
    --------
    >>> cluster_name("local:4"), cluster_name("tcp://10.0.0.1:8786")
    ('local:4', 'tcp://10.0.0.1:8786')
    """
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    if not rest or (kind == "local" and not (rest.isdigit() and int(rest) > 0)):
        raise typer.BadParameter(
            f"{text!r} is neither the address of a Dask scheduler, as in tcp://10.0.0.1:8786, nor local:N for N "
            "processes of this machine."
        )
    return text


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a header line or column names: .csv, .csv.gz, .parquet or .pq; with --dask, or --workers of a "
        "plan, also a folder of Parquet files.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `fit` wrote.")]
Features = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Columns to predict from.", show_default="all but the target"),
]
FeaturesOfModel = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Columns in the model's order, for a model that was fitted without names."),
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing", metavar=FLAG, help="Leave rows with missing values out instead of refusing the table."
    ),
]
Level = Annotated[
    float, typer.Option(metavar="SHARE", callback=share, help="Probability of the central interval, between 0 and 1.")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        callback=not_zero,
        rich_help_panel=MACHINE,
        help="Threads; -1 for all processors.",
        show_default="as many as PyTorch may use",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        callback=cluster_name,
        rich_help_panel=MACHINE,
        show_default="this process",
        help="Dask cluster to compute on: the address of its scheduler, as in tcp://10.0.0.1:8786, or local:N for N "
        "processes of this machine. Its workers read folders of Parquet files themselves.",
    ),
]
MemoryBudget = Annotated[
    float | None,
    typer.Option(
        metavar="GIB",
        callback=positive,
        rich_help_panel=MACHINE,
        help="Memory for factors; beyond it they are computed again.",
        show_default="half of the machine's",
    ),
]
Output = Annotated[
    Format,
    typer.Option("--format", metavar="NAME", parser=one_of(Format), help=f"How to print: {listed(Format)}."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar=FLAG, help="No progress, notes or warnings; errors are told always.")
]
