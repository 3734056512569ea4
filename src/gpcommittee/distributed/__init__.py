"""Rows that lie on the workers of a Dask cluster, from their source to the experts' shards.

Dask itself is imported inside the functions that need it: this room can be imported without it.
"""

from gpcommittee.distributed.cluster import RETRIES, checked_client, gathered, require_dask
from gpcommittee.distributed.divide import Drawn, PlacedRows, check_method, divide_rows, draw
from gpcommittee.distributed.place import PlacedBlocks, place_rows, take_rows
from gpcommittee.distributed.source import RowSource, is_partitioned, open_points, open_rows
from gpcommittee.distributed.stream import BATCH_POINTS, Streamed, stream_predictions

__all__ = [
    "BATCH_POINTS",
    "RETRIES",
    "Drawn",
    "PlacedBlocks",
    "PlacedRows",
    "RowSource",
    "Streamed",
    "check_method",
    "checked_client",
    "divide_rows",
    "draw",
    "gathered",
    "is_partitioned",
    "open_points",
    "open_rows",
    "place_rows",
    "require_dask",
    "stream_predictions",
    "take_rows",
]
