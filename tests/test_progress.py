from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gpcommittee import progress
from gpcommittee.errors import InvalidParameterError
from gpcommittee.progress import ConsoleReporter, PartOf, Reporter, SilentReporter, reporter_for


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """Text written to a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "monotonic", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal()


def lines(file: io.StringIO) -> list[str]:
    return file.getvalue().splitlines()


def interrupted_stage(reporter: Reporter) -> None:
    with reporter.stage("Training", 100) as stage:
        stage.advance(12, note="objective 7.5")
        raise KeyboardInterrupt


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = reporter_for(0)
    assert isinstance(reporter, SilentReporter)
    with reporter.stage("Training", 10) as stage:
        stage.advance()
        stage.advance(3, note="objective 1")
    reporter.message("hello")
    assert capsys.readouterr() == ("", "")


def test_silence_passes_errors_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_stage(SilentReporter())


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_verbose_reports_on_standard_error(verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    reporter_for(verbose).message("hello")
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize("verbose", [-1, 1.0, "1", None])
def test_other_verbosity_is_refused(verbose: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"verbose is {verbose!r}; use 0 for silence or 1"):
        reporter_for(verbose)


def test_plain_lines_come_every_ten_seconds_and_at_the_end(clock: Clock) -> None:
    file = io.StringIO()
    with ConsoleReporter(file).stage("Training", 100) as stage:
        for evaluation in range(25):
            clock.now += 1.0
            stage.advance(note=f"objective {evaluation}")
    assert lines(file) == [
        "Training: 10 of 100 (10%), 1/s, about 1 min 30 s left, objective 9",
        "Training: 20 of 100 (20%), 1/s, about 1 min 20 s left, objective 19",
        "Training: 25 (of at most 100) in 25 s, objective 24",
    ]


def test_plain_lines_without_a_total(clock: Clock) -> None:
    file = io.StringIO()
    with ConsoleReporter(file).stage("Reading") as stage:
        clock.now += 20.0
        stage.advance(50_000)
        clock.now += 3600.0
    assert lines(file) == ["Reading: 50,000, 2,500/s", "Reading: 50,000 in 1 h 00 min"]


def test_units_are_named(clock: Clock) -> None:
    file = io.StringIO()
    reporter = ConsoleReporter(file)
    for done in (2, 7):
        with reporter.stage("Training", 7, unit="evaluations") as stage:
            stage.advance(done)
    with reporter.stage("Reading", unit="rows") as stage:
        clock.now += 20.0
        stage.advance(10)
    assert lines(file) == [
        "Training: 2 evaluations (of at most 7) in 0 s",
        "Training: 7 of 7 evaluations in 0 s",
        "Reading: 10 rows, 0.5/s",
        "Reading: 10 rows in 20 s",
    ]


def test_stages_of_a_part_move_the_whole(clock: Clock) -> None:
    file = io.StringIO()
    reporter = ConsoleReporter(file)
    with reporter.stage("predict", 100, unit="rows") as whole:
        first = PartOf(reporter, whole, 70)
        for name, total, done in (("factors", 4, 1), ("predict", 3, 2), ("again", 3, 1), ("unknown", None, 5)):
            with first.stage(name, total, unit="steps") as stage:
                clock.now += 11
                stage.advance(done)
        first.message("hello")
        clock.now += 11
        first.reach(1.0)
        clock.now += 11
        PartOf(reporter, whole, 30).reach(2.0)
    assert lines(file) == [
        "predict: 17 of 100 rows (17%), 1.55/s, about 54 s left",
        "predict: 46 of 100 rows (46%), 2.09/s, about 26 s left",
        "hello",
        "predict: 70 of 100 rows (70%), 1.27/s, about 24 s left",
        "predict: 100 of 100 rows (100%), 1.52/s",
        "predict: 100 of 100 rows in 1 min 06 s",
    ]


def test_the_last_note_is_kept(clock: Clock) -> None:
    file = io.StringIO()
    with ConsoleReporter(file).stage("Training", 2) as stage:
        stage.advance(note="objective 1")
        stage.advance()
    assert lines(file) == ["Training: 2 of 2 in 0 s, objective 1"]


def test_a_stage_with_nothing_to_do(clock: Clock) -> None:
    file = io.StringIO()
    with ConsoleReporter(file).stage("Predicting", 0) as stage:
        clock.now += 11.0
        stage.advance(0)
    assert lines(file) == ["Predicting: 0 of 0", "Predicting: 0 of 0 in 11 s"]


def test_an_interrupted_stage_says_how_far_it_came(clock: Clock) -> None:
    file = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        interrupted_stage(ConsoleReporter(file))
    assert lines(file) == ["Training: stopped after 12 of 100 in 0 s, objective 7.5"]


def test_plain_output_has_no_control_characters(clock: Clock) -> None:
    file = io.StringIO()
    reporter = ConsoleReporter(file)
    with reporter.stage("Fit [bold]", 3) as outer, reporter.stage("inner") as inner:
        inner.advance()
        outer.advance(note="[red]")
        reporter.message("a [b] message")
    assert "\x1b" not in file.getvalue()
    assert lines(file) == ["a [b] message", "inner: 1 in 0 s", "Fit [bold]: 1 (of at most 3) in 0 s, [red]"]


def test_threads_lose_no_count(clock: Clock) -> None:
    file = io.StringIO()
    with ConsoleReporter(file).stage("Experts", 4000) as stage:

        def work() -> None:
            for _ in range(1000):
                stage.advance()

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert lines(file) == ["Experts: 4,000 of 4,000 in 0 s"]


def test_characters_that_the_stream_cannot_encode_are_replaced() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    ConsoleReporter(file).message("größe")
    assert raw.getvalue().replace(os.linesep.encode(), b"\n") == b"gr??e\n"


def test_a_closed_stream_does_not_stop_the_work() -> None:
    file = io.StringIO()
    reporter = ConsoleReporter(file)
    with reporter.stage("Training", 1) as stage:
        file.close()
        stage.advance()
    reporter.message("still here")


def test_a_broken_pipe_does_not_stop_the_work() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", buffering=1) as file:
        with ConsoleReporter(file).stage("Training", 1) as stage:
            stage.advance()
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, file.fileno())
        os.close(devnull)


def test_no_standard_error_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with ConsoleReporter().stage("Training", 1) as stage:
        stage.advance()


def test_a_terminal_gets_a_bar(terminal: Terminal) -> None:
    with ConsoleReporter(terminal).stage("Training [x]", 100) as stage:
        stage.advance(37, note="objective [1.5]")
    text = terminal.getvalue()
    assert "Training [x]" in text
    assert "0/100" in text
    assert "objective [1.5]" in text
    assert "37/37" in text


def test_an_interrupted_bar_gives_the_cursor_back(terminal: Terminal) -> None:
    reporter = ConsoleReporter(terminal)
    with pytest.raises(KeyboardInterrupt):
        interrupted_stage(reporter)
    assert terminal.getvalue().rindex("\x1b[?25h") > terminal.getvalue().rindex("\x1b[?25l")
    assert "12/100" in terminal.getvalue()
    for thread in threading.enumerate():
        if type(thread).__name__ == "_RefreshThread":
            thread.join(timeout=5)
            assert not thread.is_alive()
    reporter.message("after")
    assert terminal.getvalue().endswith("after\n")


def test_messages_and_inner_stages_share_the_screen_with_a_bar(terminal: Terminal) -> None:
    reporter = ConsoleReporter(terminal)
    with reporter.stage("outer", 2) as outer:
        reporter.message("a [b] message")
        with reporter.stage("inner") as inner:
            inner.advance(3)
        outer.advance(2)
    assert "a [b] message" in terminal.getvalue()
    last_screen = terminal.getvalue().rsplit("\x1b[2K", 1)[-1]
    assert "2/2" in last_screen
    assert "inner" not in last_screen


def test_stages_may_follow_each_other(terminal: Terminal) -> None:
    reporter = ConsoleReporter(terminal)
    for name in ("first", "second"):
        with reporter.stage(name, 1) as stage:
            stage.advance()
    assert terminal.getvalue().count("1/1") >= 2


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_without_cursor_control_gets_lines(
    term: str, terminal: Terminal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    with ConsoleReporter(terminal).stage("Training", 1) as stage:
        stage.advance()
    assert lines(terminal) == ["Training: 1 of 1 in 0 s"]


def test_output_that_is_piped_on_stays_out_of_the_bar(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    with ConsoleReporter(terminal).stage("Predicting", 1) as stage:
        print("1.5,0.2")
        stage.advance()
    assert capsys.readouterr().out == "1.5,0.2\n"
    assert "1.5,0.2" not in terminal.getvalue()


def test_any_object_of_the_right_shape_is_a_reporter() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[str] = []

        @contextmanager
        def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[progress.Stage]:
            self.seen.append(name)
            with SilentReporter().stage(name, total) as stage:
                yield stage

        def message(self, text: str) -> None:
            self.seen.append(text)

    recorder = Recorder()
    reporter: Reporter = recorder
    with reporter.stage("Training"):
        reporter.message("hello")
    assert recorder.seen == ["Training", "hello"]


def test_rich_is_imported_only_for_a_bar() -> None:
    code = (
        "import importlib.util, sys\n"
        "sys.modules['gpcommittee'] = type(sys)('gpcommittee')\n"
        f"sys.modules['gpcommittee'].__path__ = [{os.path.dirname(progress.__file__)!r}]\n"
        "from gpcommittee.progress import ConsoleReporter\n"
        "ConsoleReporter().message('x')\n"
        "assert 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
