"""``python -m benchmarks.peers STUDY...``: run what is not stored yet. ``... report``: pages from what is stored."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from benchmarks._child import ChildError
from benchmarks.paper.store import StaleResultError, is_done
from benchmarks.peers.run import Place, execute, unknown_settings
from benchmarks.peers.spec import PeerRun
from benchmarks.peers.studies import STUDIES, runs, shrunk, systems
from gpcommittee.errors import DatasetNotFoundError

RESULTS = Path(__file__).parents[1] / "results" / "peers"
SMOKE_RESULTS = Path(__file__).parent / ".smoke"
SMOKE_ROWS, SMOKE_TEST_ROWS = 300, 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and report; 0 if all went well, 1 if a system failed, 2 if a run could not start."""
    chosen = parser().parse_args(arguments)
    place = Place(chosen.results or (SMOKE_RESULTS if chosen.smoke else RESULTS), chosen.data)
    wanted = [run for study in chosen.studies if study != "report" for run in selected(study, chosen)]
    if chosen.list:
        for run in wanted:
            print(f"{'stored' if is_done(place.results, run) else 'to run'}  {run.name}")
        return 0
    code = run_all(wanted, place, redo=chosen.redo)
    from benchmarks.peers.report import write_pages

    for page in write_pages(place.results):
        print(f"wrote {page.name}")
    return code


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    add = result.add_argument
    add("studies", nargs="*", default=["kin40k"], type=known, metavar="STUDY", help=f"{', '.join(STUDIES)}, report")
    add("--list", action="store_true", help="show the runs and which are stored, run nothing")
    add("--only", default="*", metavar="PATTERN", help="runs whose name matches, as in '*-ours*'")
    add("--repeats", type=int, default=1, metavar="N", help="seeds of each run (1)")
    add("--rows", type=int, metavar="N", help="training rows instead of the study's own")
    add("--test-rows", type=int, metavar="N", help="test rows instead of the study's own")
    add("--also", type=tagged, action="append", default=[], metavar="TAG=JSON", help="the library with other settings")
    add("--data", type=Path, metavar="PATH", help="folder of the data files instead of GPCOMMITTEE_DATA")
    add("--results", type=Path, metavar="PATH", help="folder of stored results")
    add("--smoke", action="store_true", help="every run at a size of seconds, stored apart")
    add("--redo", action="store_true", help="run again what is stored")
    return result


def known(name: str) -> str:
    """A study's name, or report."""
    if name not in [*STUDIES, "report"]:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(STUDIES)}, report")
    return name


def tagged(text: str) -> tuple[str, Mapping[str, object]]:
    """A tag and settings, as in ``small={"expert_size": 100}``."""
    tag, _, settings = text.partition("=")
    return tag, json.loads(settings)


def selected(study: str, chosen: argparse.Namespace) -> list[PeerRun]:
    """Runs of a study that the command asks for."""
    rows, test_rows = (SMOKE_ROWS, SMOKE_TEST_ROWS) if chosen.smoke else (chosen.rows, chosen.test_rows)
    found = runs(study, systems(study, chosen.rows, dict(chosen.also)), rows, test_rows, chosen.repeats)
    small = [replace(run, system=shrunk(run.system)) for run in found] if chosen.smoke else found
    return [run for run in small if fnmatch(run.name, chosen.only)]


def run_all(wanted: Sequence[PeerRun], place: Place, *, redo: bool) -> int:
    """Run what is not stored yet, in order; a system that fails does not stop the others."""
    code = 0
    for run in wanted:
        try:
            code = max(code, _run_one(run, place, redo=redo))
        except (DatasetNotFoundError, StaleResultError) as error:
            print(f"{run.name}: {error}", file=sys.stderr)
            return 2
    return code


def _run_one(run: PeerRun, place: Place, *, redo: bool) -> int:
    if unknown := unknown_settings(run.system):
        print(f"{run.name}: skipped, this version does not know {', '.join(unknown)}", flush=True)
        return 0
    if not redo and is_done(place.results, run):
        print(f"{run.name}: stored already", flush=True)
        return 0
    try:
        print(f"{run.name}: {execute(run, place):.1f} CPU s", flush=True)
    except ChildError as error:
        print(f"{run.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
