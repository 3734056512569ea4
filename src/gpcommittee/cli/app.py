"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from gpcommittee.cli.demo import demo
from gpcommittee.cli.evaluate import evaluate
from gpcommittee.cli.fit import fit
from gpcommittee.cli.options import FLAG
from gpcommittee.cli.plan import plan
from gpcommittee.cli.predict import predict

app = typer.Typer(
    name="gpcommittee",
    help="Gaussian-process regression on large data by a committee of experts.",
    epilog="Exit codes: 0 done, 1 an error told in one line, 2 wrong usage, 130 interrupted, 143 told to end.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit, predict, evaluate, plan, demo):
    app.command(no_args_is_help=command is not demo)(command)


def main() -> None:
    """Run the command line and leave with its exit code."""
    app(prog_name="gpcommittee")


def _show_version(wanted: bool) -> None:
    if wanted:
        from gpcommittee import __version__

        typer.echo(f"gpcommittee {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", metavar=FLAG, callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    pass
