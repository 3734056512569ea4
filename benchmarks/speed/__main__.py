"""``python -m benchmarks.speed NAME...``: measure and store. ``... report``: the page of what is stored."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from benchmarks.paper.measure import Row
from benchmarks.speed.latency import latency
from benchmarks.speed.likelihood import likelihood
from benchmarks.speed.moments import moments
from benchmarks.speed.options import SMOKE, Options
from benchmarks.speed.plan import plan
from benchmarks.speed.report import write_page
from benchmarks.speed.scaling import scaling
from benchmarks.speed.store import load_average, write_result
from gpcommittee.errors import DatasetNotFoundError

BENCHMARKS: dict[str, Callable[[Options], list[Row]]] = {
    "likelihood": likelihood,
    "moments": moments,
    "latency": latency,
    "scaling": scaling,
    "plan": plan,
}
RESULTS = Path(__file__).parents[1] / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and report; 0 if all went well."""
    chosen = parser().parse_args(arguments)
    folder = chosen.results or (Path(__file__).parent / ".smoke" if chosen.smoke else RESULTS)
    names = [name for name in chosen.names if name != "report"]
    for name in names or ([] if chosen.names else BENCHMARKS):
        try:
            run(name, options_of(chosen), folder / "speed")
        except DatasetNotFoundError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
    page = write_page(folder / "speed", folder / "speed.md")
    print("nothing is stored yet" if page is None else f"wrote {page.name}")
    return 0


def run(name: str, options: Options, folder: Path) -> None:
    """Measure one benchmark, store it and print its rows."""
    print(f"{name}:", flush=True)
    load, start = load_average(), time.perf_counter()
    rows = BENCHMARKS[name](options)
    write_result(folder, name, rows, options, load)
    for row in rows:
        print("  " + ", ".join(f"{key} {_short(value)}" for key, value in row.items()))
    print(f"  {time.perf_counter() - start:.0f} s", flush=True)


def parser() -> argparse.ArgumentParser:
    """The command line; each field of ``Options`` is an option."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    result.add_argument("names", nargs="*", metavar="NAME", type=known, help=f"{', '.join(BENCHMARKS)}, report; all")
    result.add_argument("--smoke", action="store_true", help="sizes of seconds, stored apart; numbers mean nothing")
    result.add_argument("--results", type=Path, metavar="PATH", help="folder of stored results")
    kinds: dict[str, Callable[[str], object]] = {"data": Path, "experts": numbers}
    for field in fields(Options):
        flag = f"--{field.name.replace('_', '-')}"
        result.add_argument(flag, type=kinds.get(field.name, int), help=f"({field.default})")
    return result


def known(name: str) -> str:
    """A benchmark's name, or report."""
    if name not in [*BENCHMARKS, "report"]:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(BENCHMARKS)}, report")
    return name


def numbers(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))


def options_of(chosen: argparse.Namespace) -> Options:
    """What the command says, over the usual sizes or those of a smoke run."""
    given = {field.name: getattr(chosen, field.name) for field in fields(Options)}
    return replace(SMOKE if chosen.smoke else Options(), **{k: v for k, v in given.items() if v is not None})


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
