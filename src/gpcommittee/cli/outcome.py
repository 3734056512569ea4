"""How a command ends: errors and interrupts as one line and an exit code, our warnings as one line each."""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

import typer

from gpcommittee.errors import GPCommitteeError, GPCommitteeWarning

ERROR, INTERRUPTED, TERMINATED = 1, 130, 143

_OPTION_OF = {
    "Calibrate with more rows": "Fit with more --conformal-rows",
    "aggregation='grbcm'": "--aggregation grbcm",
    "aggregation='neighbourhood'": "--aggregation neighbourhood",
    "communication_size": "--communication-size",
    "drop_missing": "--drop-missing",
    "expand_dates": "--expand-dates",
    "expert_size": "--expert-size",
    "features=[...]": "--features A,B,...",
    "give the other one to conformalize(X, y, aggregations=[...])": "fit with the other one as --aggregation",
    "leave the other at None": "leave the other out",
    "max_evaluations": "--max-evaluations",
    "memory_budget": "--memory-budget",
    "n_experts": "--n-experts",
    "n_jobs": "--jobs",
    "partition='tree'": "--partition tree",
    "partition_metric": "--partition-metric",
    "random_state": "--seed",
    "save(path)": "the command fit",
    "training_experts": "--training-experts",
}
"""What the library's messages say in Python, and a command line user writes."""

# Names in quotes are the user's own, of columns or files.
_IN_PYTHON = re.compile(rf"(?<![\w'\"./-])(?:{'|'.join(map(re.escape, _OPTION_OF))})(?![\w'\"./-]*['\"])(?!\w)")


@contextmanager
def outcome(*, quiet: bool = False, after_interrupt: str = "Nothing was written.") -> Iterator[None]:
    """Run a command's work.

    Parameters
    ----------
    quiet : bool
        Leave warnings out; errors are told always.
    after_interrupt : str
        What an interrupt leaves behind, and how to go on.

    Raises
    ------
    typer.Exit
        With the exit code, when the work failed or was interrupted.
    """
    with warnings.catch_warnings(), _heeding_termination():
        _show_own_warnings(quiet)
        try:
            yield
        except BrokenPipeError:
            raise
        except (GPCommitteeError, OSError) as error:
            _leave(ERROR, f"error: {_one_line(error)}")
        except MemoryError as error:
            _leave(ERROR, f"error: out of memory. {_one_line(error)}")
        except _Terminated:
            _leave(TERMINATED, f"Terminated. {after_interrupt}".rstrip())
        except KeyboardInterrupt:
            _leave(INTERRUPTED, f"Interrupted. {after_interrupt}".rstrip())


class _Terminated(KeyboardInterrupt):
    """The request to end that ``kill`` and batch systems send."""


def _terminate(*_: object) -> NoReturn:
    raise _Terminated


@contextmanager
def _heeding_termination() -> Iterator[None]:
    """End on a request to terminate as on an interrupt, which cleans up; the main thread alone can."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(code: int, message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code) from None


def _one_line(message: object) -> str:
    return _IN_PYTHON.sub(lambda found: _OPTION_OF[found[0]], " ".join(str(message).split()))


def _show_own_warnings(quiet: bool) -> None:
    """Show each of our warnings once, in one line; those of other libraries as they would be."""
    shown: set[str] = set()
    show_other = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, GPCommitteeWarning):
            show_other(message, category, filename, lineno, file, line)
        elif not quiet and (text := _one_line(message)) not in shown:
            shown.add(text)
            typer.echo(f"warning: {text}", err=True)

    warnings.simplefilter("always", GPCommitteeWarning)
    warnings.showwarning = show
