from __future__ import annotations

import warnings

import pytest
import typer

from gpcommittee.cli.outcome import outcome
from gpcommittee.errors import BoundWarning, InvalidInputError


def test_our_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, outcome():
        raise InvalidInputError("Two lines,\n  said in one.")
    assert ended.value.exit_code == 1
    assert capsys.readouterr() == ("", "error: Two lines, said in one.\n")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device", "p.csv"), MemoryError("no 8 GiB left")])
def test_what_the_machine_lacks_is_one_line(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, outcome(quiet=True):
        raise error
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize(
    ("python", "command_line"),
    [
        ("leave them out with drop_missing.", "leave them out with --drop-missing."),
        (
            "n_experts=2 and expert_size=80; leave the other at None.",
            "--n-experts=2 and --expert-size=80; leave the other out.",
        ),
        ("Name them (features=[...]).", "Name them (--features A,B,...)."),
        ("save(path) writes one.", "the command fit writes one."),
        ("Column 'n_jobs' of 'my n_jobs.csv'.", "Column 'n_jobs' of 'my n_jobs.csv'."),
        ("No file '/data/drop_missing/x.csv'.", "No file '/data/drop_missing/x.csv'."),
        ("It holds n_jobs_total, x_n_jobs.", "It holds n_jobs_total, x_n_jobs."),
    ],
)
def test_settings_are_named_as_options(python: str, command_line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), outcome():
        raise InvalidInputError(python)
    assert capsys.readouterr().err == f"error: {command_line}\n"


def test_interrupt_says_what_it_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, outcome(after_interrupt="The log is in fit.log."):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "Interrupted. The log is in fit.log.\n"


def test_a_closed_pipe_is_left_to_the_caller() -> None:
    with pytest.raises(BrokenPipeError), outcome():
        raise BrokenPipeError


def test_a_fault_of_our_own_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), outcome():
        _ = 1 / 0


def test_our_warnings_are_told_once_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with outcome():
        for text in ("On a\nbound.", "On a\nbound.", "Another."):
            warnings.warn(text, BoundWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: On a bound.\nwarning: Another.\n"


def test_quiet_leaves_our_warnings_out(capsys: pytest.CaptureFixture[str]) -> None:
    with outcome(quiet=True):
        warnings.warn("On a bound.", BoundWarning, stacklevel=1)
    assert capsys.readouterr() == ("", "")


def test_other_warnings_stay_as_they_are() -> None:
    with pytest.warns(UserWarning, match="not ours"), outcome(quiet=True):
        warnings.warn("not ours", UserWarning, stacklevel=1)


def test_warnings_are_shown_as_before_afterwards() -> None:
    before = warnings.showwarning
    with outcome():
        pass
    assert warnings.showwarning is before
