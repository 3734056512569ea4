"""The command ``demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpcommittee.cli.options import Jobs, Quiet
from gpcommittee.cli.outcome import outcome

EXPERT_SIZE = 250
"""Half the usual size: the demo takes half the time, and the scores hardly change."""


def demo(
    rows: Annotated[
        int, typer.Option(min=100, metavar="N", help="Training points, drawn at random from the geoid.")
    ] = 50_000,
    test_rows: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Points held out at random and scored, instead of the map's points off the data."
        ),
    ] = None,
    expert_size: Annotated[int, typer.Option(min=2, metavar="N", help="Training points per expert.")] = EXPERT_SIZE,
    step: Annotated[float, typer.Option(min=0.25, max=90, metavar="DEGREES", help="Grid spacing of the map.")] = 2.0,
    out_dir: Annotated[Path, typer.Option(metavar="FOLDER", help="Where picture and model go.")] = Path(
        "gpcommittee-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Decides the training points and the partition.")] = 0,
    jobs: Jobs = None,
    quiet: Quiet = False,
) -> None:
    """Learn the Earth's geoid from scattered points and map it.

    The geoid is the surface that the sea would have without winds and tides:
    here EGM96, in metres above the WGS 84 ellipsoid. Writes a picture and the
    model, and scores the map where the model saw no data, or with --test-rows
    that many points held out at random.

    [bold]Examples[/bold]

    \b
    gpcommittee demo
    gpcommittee demo --rows 5000 --step 3 --out-dir quick
    gpcommittee demo --rows 938240 --test-rows 100000 --out-dir million
    """  # noqa: D301
    with outcome(quiet=quiet, after_interrupt="The demo keeps nothing of a run that was interrupted."):
        from gpcommittee.cli.work.demo import DemoSize, run_demo

        size = DemoSize(rows, test_rows, step, expert_size)
        run_demo(size, out_dir, seed=seed, n_jobs=jobs, quiet=quiet)
