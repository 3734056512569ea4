"""Results of small runs, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.run import Place, execute
from small_runs import limits_run, medium_like_runs, toy_run


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results, a few runs of each kind of study."""
    results = tmp_path_factory.mktemp("results")
    runs = [toy_run(120), toy_run(120, repeat=1), toy_run(240)]
    runs += [limits_run(n, partition) for n in (64, 256) for partition in ("random", "kmeans")]
    runs += medium_like_runs("kin40k") + medium_like_runs("electric")[:1]
    for run in runs:
        execute(run, Place(results))
    return results
