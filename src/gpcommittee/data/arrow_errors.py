"""Reading errors of Arrow, said in this package's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from gpcommittee.errors import InvalidInputError

_CSV_VALUE = re.compile(r"In CSV column #(\d+): CSV conversion error to (\S+): (.*)", re.DOTALL)


@contextmanager
def readable(name: str, columns: Sequence[str] = ()) -> Iterator[None]:
    """Turn what Arrow raises on a damaged or unexpected file into an `InvalidInputError` that names file and column.

    Parameters
    ----------
    name : str
        The file, for messages.
    columns : sequence of str
        All column names of a CSV file, for its value errors.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{name!r} is not UTF-8 text ({error}). Save it again as UTF-8.") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InvalidInputError(_message(name, columns, str(error))) from error


def _message(name: str, columns: Sequence[str], reason: str) -> str:
    value = _CSV_VALUE.search(reason)
    if value is None:
        return f"{name!r} cannot be read; it is damaged or not what its ending says. The reader says: {reason}"
    column, wanted, problem = value.groups()
    return (
        f"Column {columns[int(column)]!r} of {name!r} has a value that is no {_WORDS.get(wanted, wanted)}: {problem}. "
        "Leave missing values empty; encode text as numbers, or leave the column out by naming the features."
    )


_WORDS = {"double": "number", "bool": "true or false"}
