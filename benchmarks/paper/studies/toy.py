"""The toy example (section 4.1, Figs. 2 and 3; appendix D, Fig. 7)."""

from __future__ import annotations

from benchmarks.paper.options import Options
from benchmarks.paper.spec import DataSpec, RunSpec
from benchmarks.paper.systems.committee import CommitteeSystem

ROWS_PER_EXPERT = 500
REPEATS = {10_000: 10, 50_000: 5, 100_000: 3, 500_000: 1, 1_000_000: 1}
"""The paper's sizes. It does not repeat them; drawing new data costs little at the small ones."""

NPAE_UP_TO = 50_000
FULL_GP_UP_TO = 10_000
CURVES_AT = (10_000, 500_000)


def toy_runs(options: Options) -> list[RunSpec]:
    """One run per size and repeat: M = n / 500, k-means, n / 10 test points in [-0.2, 1.2]."""
    sizes = options.sizes or tuple(REPEATS)
    return [_run(n, repeat) for n in sizes for repeat in range(options.count(REPEATS.get(n, 1)))]


def _run(n: int, repeat: int) -> RunSpec:
    first = repeat == 0
    system = CommitteeSystem(
        n_experts=max(2, n // ROWS_PER_EXPERT), npae=n <= NPAE_UP_TO, exact=first and n <= FULL_GP_UP_TO
    )
    data = DataSpec("toy", rows=n, seed=repeat, grid=first and n in CURVES_AT)
    return RunSpec("toy", f"toy-n{n}-r{repeat:02d}", data, system, repeat)
