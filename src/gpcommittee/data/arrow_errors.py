"""Reading errors of Arrow, said in this package's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from gpcommittee.data.dates import ISO_DATES
from gpcommittee.errors import InvalidInputError

# Arrow names the row only where it converts a block in the order of the file.
_CSV_VALUE = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): (.*)", re.DOTALL)


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
    column, row, wanted, problem = value.groups()
    where = f" in row {row} of the file" if row else ""
    is_date = wanted.startswith(("timestamp", "date"))
    word, advice = ("date of the kind before it", ISO_DATES) if is_date else (_WORDS.get(wanted, wanted), _ENCODE)
    return (
        f"Column {columns[int(column)]!r} of {name!r} has a value{where} that is no {word}: {problem}. Leave missing "
        f"values empty; {advice}."
    )


_ENCODE = "encode text as numbers, or name the features to leave the column out"
_WORDS = {"double": "number", "bool": "true or false"}
