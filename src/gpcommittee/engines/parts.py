"""Few tasks of many parts: where they run, and how parts are handed out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpcommittee.engines.protocol import Engine, Item, Result
from gpcommittee.engines.serial import SerialEngine

RUNS_PER_WORKER = 2
"""Runs of parts per worker: few, since handing out costs as much as a short part, and enough to even out long ones."""


def for_tasks_and_parts(engine: Engine, n_tasks: int) -> tuple[Engine, Engine]:
    """Where tasks run, and where the parts of one of them: side by side where there are fewer tasks than workers.

    Parameters
    ----------
    engine : Engine
    n_tasks : int

    Returns
    -------
    tasks, parts : Engine
    """
    alone = SerialEngine(engine.batch_memory)
    return (alone, engine) if n_tasks < engine.n_workers else (engine, alone)


def map_parts(engine: Engine, function: Callable[[Item], Result], parts: Sequence[Item]) -> list[Result]:
    """Results in the order of the parts, which workers take in runs.

    Parameters
    ----------
    engine : Engine
    function : callable
        Takes a part.
    parts : sequence

    Returns
    -------
    list
        ``function(part)`` for each part.
    """
    size = max(1, -(-len(parts) // (RUNS_PER_WORKER * engine.n_workers)))
    runs = [parts[start : start + size] for start in range(0, len(parts), size)]
    return [result for results in engine.map(lambda run: [function(part) for part in run], runs) for result in results]
