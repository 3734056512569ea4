"""What a table column holds, as far as a regression cares."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa


class Kind(Enum):
    """Kinds of columns; the value is the word used in messages."""

    NUMBER = "numbers"
    BOOLEAN = "true/false"
    DATE = "dates"
    TIMESTAMP = "timestamps"
    TEXT = "text"
    EMPTY = "no values"
    OTHER = "values of an unsupported type"


# In this order: a dictionary type is looked at through its values beforehand.
_TESTS = (
    (Kind.BOOLEAN, (pa.types.is_boolean,)),
    (Kind.NUMBER, (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)),
    (Kind.DATE, (pa.types.is_date,)),
    (Kind.TIMESTAMP, (pa.types.is_timestamp,)),
    (Kind.TEXT, (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)),
    (Kind.EMPTY, (pa.types.is_null,)),
)


def kind_of(data_type: pa.DataType) -> Kind:
    """Kind of an Arrow type; a categorical (dictionary) type has the kind of its values."""
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    return next((kind for kind, tests in _TESTS if any(test(data_type) for test in tests)), Kind.OTHER)
