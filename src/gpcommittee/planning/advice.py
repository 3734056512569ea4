"""One line of advice on a plan."""

from __future__ import annotations

from gpcommittee.planning.factors import FactorPlan
from gpcommittee.prediction import usable_memory

GIBIBYTE = 2.0**30
LONG_FIT_SECONDS = 3600.0
LARGE_EXPERT = 1000
SMALL_EXPERT = 100


def advise(
    *, peak: float, factors: FactorPlan, budget: float, fit_seconds: float, expert_size: int, by_leaves: bool = False
) -> str:
    """The first thing to change, if anything: memory, then factors, then time."""
    available = usable_memory()
    smaller = "fewer rows for each, Neighbourhood(n_rows=...)" if by_leaves else "a smaller expert_size"
    if peak > available:
        return (
            f"Peak memory of {_gib(peak)} exceeds the {_gib(available)} of this machine: choose a smaller "
            f"memory_budget or n_jobs, {smaller}, or predict the test rows in parts."
        )
    if not factors.kept:
        return (
            f"Factors of {_gib(factors.total)} exceed the memory budget of {_gib(budget)}, so every call to predict "
            f"computes them again: predict many rows in one call, raise memory_budget or choose {smaller}."
        )
    if fit_seconds > LONG_FIT_SECONDS and expert_size > LARGE_EXPERT:
        return f"Half of expert_size={expert_size} would take about a quarter of the time."
    if fit_seconds > LONG_FIT_SECONDS:
        return "A long fit: give it a checkpoint, from which it can be resumed, and all processors by n_jobs=-1."
    if expert_size < SMALL_EXPERT:
        return (
            f"Experts of at most {expert_size} rows know little: choose an expert_size of 200 or more, rows allowing."
        )
    return "Nothing to change: memory and time are within reach."


def _gib(value: float) -> str:
    return f"{value / GIBIBYTE:.3g} GiB"
