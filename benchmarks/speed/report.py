"""One Markdown page of all stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.paper.report.page import Page, table
from benchmarks.speed.store import Stored, read_result

Cell = tuple[str, str]
"""Name of a value in a row, and how to write it."""


@dataclass(frozen=True)
class Section:
    """How a benchmark's rows are shown.

    Attributes
    ----------
    title, text : str
    columns : mapping of str to Cell
        By heading.
    only : str
        Rows that have this value; all if empty.
    """

    title: str
    text: str
    columns: Mapping[str, Cell]
    only: str = ""

    def table(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Its rows; a value that a row does not have is left empty."""
        cells = [[_written(row.get(key), form) for key, form in self.columns.values()] for row in rows]
        texts = sum(form == "{}" for _, form in list(self.columns.values())[:3])
        return table(list(self.columns), cells, text_columns=texts)


SECTIONS: Mapping[str, Sequence[Section]] = {
    "likelihood": (
        Section(
            "Value and gradient of the likelihood",
            "16 experts of {size} rows and 8 inputs, one after another on one thread, counting $m^3$ each.",
            {
                "kernel": ("kernel", "{}"),
                "share of DGEMM": ("share", "{:.0%}"),
                "least": ("least", "{:.0%}"),
                "most": ("most", "{:.0%}"),
                "CPU s": ("cpu_seconds", "{:.3f}"),
                "DGEMM, GFlop/s": ("dgemm_gflops", "{:.0f}"),
            },
            "share",
        ),
        Section(
            "Two workers against one",
            "The whole objective by the clock, in pairs. The ratio needs two idle cores; processor time of two workers "
            "over that of one tells what sharing caches and the interpreter costs, whatever else the machine does.",
            {
                "kernel": ("kernel", "{}"),
                "times faster": ("ratio", "{:.2f}"),
                "least": ("least", "{:.2f}"),
                "most": ("most", "{:.2f}"),
                "CPU of two / CPU of one": ("cpu_ratio", "{:.2f}"),
            },
            "ratio",
        ),
    ),
    "moments": (
        Section(
            "Augmented experts",
            "16 experts of {size} rows and as many communication rows, a chunk of 1,024 test points, one thread. "
            "Counted are $\\tfrac73 m^3$ per factor and $3 m^2$ per expert and test point; projection, kernels, rule "
            "and conversions are work that is not counted.",
            {
                "what": ("what", "{}"),
                "kernel": ("kernel", "{}"),
                "counted": ("counted", "${}$"),
                "share of DGEMM": ("share", "{:.0%}"),
                "least": ("least", "{:.0%}"),
                "most": ("most", "{:.0%}"),
                "CPU s": ("cpu_seconds", "{:.3f}"),
            },
        ),
    ),
    "latency": (
        Section(
            "One row at a time",
            "{predictions:,} predictions of a single row with standard deviation from a model of kin40k, factors kept.",
            {
                "model": ("model", "{}"),
                "experts": ("n_experts", "{:,}"),
                "n_jobs": ("n_jobs", "{}"),
                "median, ms": ("wall_ms", "{:.1f}"),
                "95th percentile, ms": ("wall_ms_95", "{:.1f}"),
                "CPU, median, ms": ("cpu_ms", "{:.1f}"),
            },
        ),
    ),
    "scaling": (
        Section(
            "Time per test point and number of experts",
            "The geoid, experts of {expert_size} rows, Matérn-3/2. *Growth* is processor time per test point in matrix "
            "products, over that of the smallest committee. *Share* counts $3 m^2$ per expert and test point.",
            {
                "experts": ("n_experts", "{:,}"),
                "test points": ("n_test", "{:,}"),
                "CPU ms a point": ("cpu_ms_per_point", "{:.3f}"),
                "growth": ("growth", "{:.2f}"),
                "share of DGEMM": ("share", "{:.0%}"),
                "first pass, CPU s": ("first_cpu_seconds", "{:.0f}"),
                "peak, GiB": ("peak_memory_gib", "{:.1f}"),
            },
        ),
    ),
    "plan": (
        Section(
            "What `plan` says and what happens",
            "One worker, a process of its own. Planned seconds are those of a typical fit.",
            {
                "data": ("dataset", "{}"),
                "stage": ("stage", "{}"),
                "rows": ("n_train", "{:,}"),
                "test rows": ("n_test", "{:,}"),
                "peak, GiB": ("peak_gib", "{:.2f}"),
                "planned / measured": ("memory_ratio", "{:.2f}"),
                "CPU s": ("cpu_seconds", "{:.1f}"),
                "planned s": ("planned_seconds", "{:.1f}"),
                "planned / measured time": ("time_ratio", "{:.2f}"),
                "evaluations": ("evaluations", "{}"),
            },
        ),
    ),
}


def write_page(results: Path, page: Path) -> Path | None:
    """Write the page of all benchmarks that have results; None if none has."""
    stored = {name: result for name in SECTIONS if (result := read_result(results, name)) is not None}
    if not stored:
        return None
    blocks = [text for name, result in stored.items() for text in _shown(name, result)]
    return Page(page.stem, "Speed, as measured", [*blocks]).write(page.parent)


def _shown(name: str, result: Stored) -> list[str]:
    texts = []
    for section in SECTIONS[name]:
        rows = [row for row in result["rows"] if not section.only or section.only in row]
        texts += [f"## {section.title}", section.text.format(**result["options"]), section.table(rows)]
    return [*texts, f"`make bench-speed SPEED_ARGS={name}`. {made_with(result)}"]


def made_with(result: Stored) -> str:
    """Date, machine, load and versions behind a result."""
    machine, load = result["machine"], result["load"]
    versions = ", ".join(f"{library} {version}" for library, version in result["versions"].items())
    return (
        f"{result['finished'][:10]}; {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB; load "
        f"average {load['before']} before and {load['after']} after; {versions}."
    )


def _written(value: object, form: str) -> str:
    return "" if value is None else form.format(value)
