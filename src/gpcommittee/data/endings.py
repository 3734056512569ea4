"""File formats by file name."""

from __future__ import annotations

from pathlib import Path

CSV_ENDINGS = (".csv", ".csv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
ENDINGS = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS))


def is_csv(path: Path) -> bool:
    """Whether the file name ends as a CSV file does, compressed or not."""
    return path.name.casefold().endswith(CSV_ENDINGS)


def is_parquet(path: Path) -> bool:
    """Whether the file name ends as a Parquet file does."""
    return path.name.casefold().endswith(PARQUET_ENDINGS)


def is_gzip(path: Path) -> bool:
    """Whether the file name ends as a gzip file does."""
    return path.name.casefold().endswith(".gz")
