"""A progress bar for long work that reads well in terminals, notebooks and logs alike."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

LOG_STEPS = 10  # lines in a log, at most, after the first


class Report(Protocol):
    """report(done, total, label): moves the bar; False asks the work to stop and return what it has."""

    def __call__(self, done: int, total: int, label: str | None = None) -> bool:
        """Move the bar."""


@contextmanager
def progress_bar(label: str, stream: IO[str] | None = None, quiet: float = 3.0) -> Iterator[Report]:
    """A callback for any function of banditree that takes `on_progress`: a bar in a terminal or a notebook, and in a
    log a line per tenth of the work.

    stream: where it is drawn; the error stream when left out. quiet: seconds before the first line of a log, so that
    short work says nothing.

    >>> with progress_bar("Simulating", sys.stdout, quiet=0) as on_progress:
    ...     goes_on = [on_progress(done, 4) for done in range(1, 5)]
    Simulating: 1 of 4
    Simulating: 2 of 4
    Simulating: 3 of 4
    Simulating: 4 of 4
    """
    from rich.console import Console

    console = Console(file=stream, stderr=stream is None)
    if console.is_terminal or console.is_jupyter:
        with _bar(label, console) as report:
            yield report
    else:
        yield _log(label, stream or sys.stderr, quiet)


@contextmanager
def _bar(label: str, console: Any) -> Iterator[Report]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        line = bar.add_task(label, total=None)

        def report(done: int, total: int, label: str | None = None) -> bool:
            bar.update(line, completed=done, total=total, description=label)
            return True

        yield report


def _log(label: str, stream: IO[str], quiet: float) -> Report:
    first, reported, start = label, -1, time.monotonic()

    def report(done: int, total: int, label: str | None = None) -> bool:
        nonlocal reported
        tenth = LOG_STEPS * done // max(total, 1)
        if tenth > reported and time.monotonic() >= start + quiet:
            reported = tenth
            stream.write(f"{label or first}: {done:,} of {total:,}\n")
            stream.flush()
        return True

    return report
