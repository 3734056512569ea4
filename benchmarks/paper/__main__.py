"""``python -m benchmarks.paper STUDY``: run what is not stored yet. ``... report``: pages from what is stored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.paper.options import Options
from benchmarks.paper.run import Place, execute
from benchmarks.paper.spec import RunSpec, smoke
from benchmarks.paper.store import StaleResultError, is_done
from benchmarks.paper.studies import STUDIES
from gpcommittee.errors import DatasetNotFoundError

HERE = Path(__file__).parent
RESULTS, SMOKE_RESULTS, PAGES = HERE / "results", HERE / ".smoke" / "results", HERE / "pages"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or report; 0 if all went well."""
    chosen = parser().parse_args(arguments)
    results = chosen.results or (SMOKE_RESULTS if chosen.smoke else RESULTS)
    if chosen.study == "report":
        from benchmarks.paper.report import write_pages

        for page in write_pages(results, chosen.pages or (results.parent / "pages")):
            print(f"wrote {page.name}")
        return 0
    specs = selected(chosen)
    if chosen.list:
        return list_runs(specs, results)
    return run_all(specs, Place(results, chosen.data, chosen.jobs), redo=chosen.redo)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    add = result.add_argument
    add("study", choices=[*STUDIES, "report"])
    add("--list", action="store_true", help="show the runs and which are stored, run nothing")
    add("--only", default="*", metavar="PATTERN", help="runs whose name matches, as in '*-m16-*'")
    add("--repeats", type=int, metavar="N", help="repeats of each run instead of the study's own")
    add("--sizes", type=sizes, metavar="N,N", help="training rows of the toy and consistency studies")
    add("--rows", type=int, metavar="N", help="training rows of the other studies; experts keep their size")
    add("--test-rows", type=int, metavar="N", help="test rows of the other studies")
    add("--data", type=Path, metavar="PATH", help="folder of the data files instead of GPCOMMITTEE_DATA")
    add("--results", type=Path, metavar="PATH", help="folder of stored results")
    add("--pages", type=Path, metavar="PATH", help="folder for the report's pages")
    add("--jobs", type=int, default=1, metavar="N", help="worker threads, each with one BLAS thread (1)")
    add("--smoke", action="store_true", help="every run at a size of seconds, stored apart")
    add("--redo", action="store_true", help="run again what is stored")
    return result


def sizes(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    return tuple(int(part) for part in text.split(","))


def selected(chosen: argparse.Namespace) -> list[RunSpec]:
    """Runs of the study that the command asks for."""
    options = Options(chosen.repeats, chosen.sizes, chosen.rows, chosen.test_rows, chosen.data)
    specs = [spec for spec in STUDIES[chosen.study](options) if fnmatch(spec.name, chosen.only)]
    return [smoke(spec) for spec in specs] if chosen.smoke else specs


def list_runs(specs: Sequence[RunSpec], results: Path) -> int:
    """Print the runs, one a line."""
    for spec in specs:
        print(f"{'stored' if is_done(results, spec) else 'to run'}  {spec.name}")
    return 0


def run_all(specs: Sequence[RunSpec], place: Place, *, redo: bool) -> int:
    """Run what is not stored yet, in order; stop at what cannot run."""
    for spec in specs:
        try:
            if not redo and is_done(place.results, spec):
                print(f"{spec.name}: stored already", flush=True)
                continue
            print(f"{spec.name}: {execute(spec, place):.1f} s", flush=True)
        except (DatasetNotFoundError, StaleResultError) as error:
            print(f"{spec.name}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
