"""What long work says while it runs: a bar on a terminal, plain lines in a file or a pipe, or nothing.

A report never stops the work: lines that cannot be written, to a closed pipe for example, are lost without an error.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from numbers import Integral
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

from gpcommittee.errors import InvalidParameterError

if TYPE_CHECKING:
    from rich.progress import Progress

PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines of one stage."""

REDRAWS_PER_SECOND = 4
"""More would cost the work noticeable time on one core."""


class Stage(Protocol):
    """One counted piece of work under way."""

    def advance(self, n: int = 1, note: str | None = None) -> None:
        """Count ``n`` more units as done; a note, such as the current objective, replaces the last one."""


class Reporter(Protocol):
    """Where long work reports. Stages may be nested and advanced from several threads."""

    def stage(self, name: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Stage]:
        """Open a stage of at most ``total`` units, or of a number not known beforehand; ``unit`` is their plural."""

    def message(self, text: str) -> None:
        """Say something once."""


class SilentReporter:
    """Says nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
        """A stage that nobody hears of."""
        yield _SilentStage()

    def message(self, text: str) -> None:
        """Nothing is said."""


class UnderName:
    """Reports stages of work that is part of another under one name.

    Parameters
    ----------
    reporter : Reporter
    name : str
    """

    def __init__(self, reporter: Reporter, name: str) -> None:
        self._reporter = reporter
        self._name = name

    def stage(self, name: str, total: int | None = None, unit: str = "") -> AbstractContextManager[Stage]:
        """Open a stage, whatever it is called by itself."""
        return self._reporter.stage(self._name, total, unit)

    def message(self, text: str) -> None:
        """Say something once."""
        self._reporter.message(text)


class PartOf:
    """Reports the stages of a part of some work as progress of the whole.

    A part of several stages is done when the first of them is: how many will follow is not known.

    Parameters
    ----------
    reporter : Reporter
        Of the whole; takes the messages.
    whole : Stage
    n : int
        Units of the whole that the part has.
    """

    def __init__(self, reporter: Reporter, whole: Stage, n: int) -> None:
        self._reporter = reporter
        self._whole = whole
        self._n = n
        self._counted = 0
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
        """Open a stage that is heard of as units of the whole."""
        yield _StageOfPart(self, total)

    def message(self, text: str) -> None:
        """Say something once."""
        self._reporter.message(text)

    def reach(self, share: float) -> None:
        """Count the part as done to this share, unless it was further already."""
        with self._lock:
            more = int(min(share, 1.0) * self._n) - self._counted
            if more > 0:
                self._counted += more
                self._whole.advance(more)


class _StageOfPart:
    def __init__(self, part: PartOf, total: int | None) -> None:
        self._part = part
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def advance(self, n: int = 1, note: str | None = None) -> None:
        with self._lock:
            self._done += n
        if self._total:
            self._part.reach(self._done / self._total)


class _SilentStage:
    def advance(self, n: int = 1, note: str | None = None) -> None:
        pass


class ConsoleReporter:
    """Reports to a stream: bars with rate and time left on a terminal, otherwise a line now and then and at the end.

    Parameters
    ----------
    file : text stream or None
        None means standard error.

    Examples
    --------
    >>> import sys
    >>> reporter = ConsoleReporter(sys.stdout)
    >>> with reporter.stage("Training", total=100) as stage:
    ...     stage.advance(37, note="objective 12.5")
    Training: 37 (of at most 100) in 0 s, objective 12.5
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = sys.stderr if file is None else file
        self._lock = threading.RLock()
        self._bars: Progress | None = None

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[Stage]:
        """Open a stage; it is closed properly when the work fails or is interrupted."""
        count = _Count(name, total, unit)
        with self._barred(count) if _is_terminal(self._file) else self._plain(count) as stage:
            yield stage

    def message(self, text: str) -> None:
        """Write a line, above the bars if there are any."""
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._write(text)

    @contextmanager
    def _plain(self, count: _Count) -> Iterator[Stage]:
        stage = _PlainStage(count, self._write)
        try:
            yield stage
        except BaseException:
            self._write(count.stopped_line())
            raise
        self._write(count.last_line())

    @contextmanager
    def _barred(self, count: _Count) -> Iterator[Stage]:
        nested = self._bars is not None
        with self._open_bars() as bars:
            stage = _BarStage(count, bars)
            yield stage
            stage.remove() if nested else stage.finish()

    @contextmanager
    def _open_bars(self) -> Iterator[Progress]:
        """The bars on the screen, which nested stages share."""
        if self._bars is not None:
            yield self._bars
            return
        self._bars = _make_bars(self._file)
        try:
            with self._bars:
                yield self._bars
        finally:
            self._bars = None

    def _write(self, line: str) -> None:
        encoding = getattr(self._file, "encoding", None) or "utf-8"
        with self._lock, suppress(AttributeError, OSError, ValueError):
            self._file.write(line.encode(encoding, "replace").decode(encoding) + "\n")
            self._file.flush()


def reporter_for(verbose: int) -> Reporter:
    """The reporter of a ``verbose`` setting.

    Parameters
    ----------
    verbose : int
        0 for silence, 1 or more for progress on standard error.

    Raises
    ------
    InvalidParameterError
        If ``verbose`` is negative or no integer.
    """
    if not isinstance(verbose, Integral) or verbose < 0:
        raise InvalidParameterError(f"verbose is {verbose!r}; use 0 for silence or 1 for progress on standard error.")
    return ConsoleReporter() if verbose else SilentReporter()


class _Count:
    """How far a stage is."""

    def __init__(self, name: str, total: int | None, unit: str) -> None:
        self.name = name
        self.total = total
        self.unit = f" {unit}" if unit else ""
        self.done = 0
        self.note: str | None = None
        self.start = monotonic()

    def add(self, n: int, note: str | None) -> None:
        self.done += n
        self.note = self.note if note is None else note

    @property
    def elapsed(self) -> float:
        return monotonic() - self.start

    @property
    def rate(self) -> str:
        return _rate(self.done / self.elapsed) if self.done and self.elapsed > 0 else ""

    def line(self) -> str:
        return self._joined(f"{self.name}: {self._position()}{self._share()}", self.rate, self._time_left())

    def last_line(self) -> str:
        """Work may need fewer units than it was allowed; it is finished all the same."""
        fewer = self.total is not None and self.done < self.total
        position = f"{self.done:,}{self.unit} (of at most {self.total:,})" if fewer else self._position()
        return self._joined(f"{self.name}: {position} in {_duration(self.elapsed)}")

    def stopped_line(self) -> str:
        """Of work that failed or was interrupted."""
        return self._joined(f"{self.name}: stopped after {self._position()} in {_duration(self.elapsed)}")

    def _position(self) -> str:
        return f"{self.done:,}{'' if self.total is None else f' of {self.total:,}'}{self.unit}"

    def _share(self) -> str:
        return f" ({self.done / self.total:.0%})" if self.total else ""

    def _time_left(self) -> str:
        if not self.total or not 0 < self.done < self.total:
            return ""
        return f"about {_duration(self.elapsed * (self.total - self.done) / self.done)} left"

    def _joined(self, *parts: str) -> str:
        return ", ".join(part for part in (*parts, self.note) if part)


class _PlainStage:
    """Writes a line at its first report after each interval."""

    def __init__(self, count: _Count, write: Callable[[str], None]) -> None:
        self.count = count
        self._write = write
        self._lock = threading.Lock()
        self._last = count.start

    def advance(self, n: int = 1, note: str | None = None) -> None:
        with self._lock:
            self.count.add(n, note)
            if monotonic() - self._last >= PLAIN_INTERVAL:
                self._last = monotonic()
                self._write(self.count.line())


class _BarStage:
    """Moves one bar."""

    def __init__(self, count: _Count, bars: Progress) -> None:
        self._count = count
        self._bars = bars
        self._lock = threading.Lock()
        self._task = bars.add_task(count.name, total=count.total, rate="", note="")

    def advance(self, n: int = 1, note: str | None = None) -> None:
        with self._lock:
            self._count.add(n, note)
            done, rate, shown_note = self._count.done, self._count.rate, self._count.note or ""
        self._bars.update(self._task, completed=done, rate=rate, note=shown_note)

    def finish(self) -> None:
        """The bar is full even if fewer units were needed than allowed."""
        self._bars.update(self._task, total=self._count.done, completed=self._count.done)

    def remove(self) -> None:
        self._bars.remove_task(self._task)


def _make_bars(file: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=file),
        refresh_per_second=REDRAWS_PER_SECOND,
        redirect_stdout=_is_terminal(sys.stdout),
        redirect_stderr=_is_terminal(sys.stderr),
    )


def _is_terminal(file: TextIO) -> bool:
    """Whether the stream is a terminal whose cursor can be moved."""
    with suppress(AttributeError, ValueError):
        return file.isatty() and os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}
    return False


def _rate(per_second: float) -> str:
    """Three figures, and no powers of ten where whole numbers do.

    >>> _rate(0.04567), _rate(12345.6)
    ('0.0457/s', '12,346/s')
    """
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.3g}/s"


def _duration(seconds: float) -> str:
    """A time as people say it.

    >>> _duration(7.4), _duration(200), _duration(7500)
    ('7 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
