"""A progress bar for long work that reads well in terminals, notebooks and logs alike."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from banditree.progress import OnProgress, Progress

LOG_STEPS = 10  # A log gets at most this many lines after the first.


@contextmanager
def progress_bar(label: str, stream: IO[str] | None = None, quiet: float = 3.0) -> Iterator[OnProgress]:
    """A callback for any function of banditree that takes `on_progress`: a bar in a terminal or a notebook, and in a
    log a line per tenth of the work.

    stream: where it is drawn; the error stream by default. quiet: seconds before the first line of a log, so that
    short work says nothing.

    >>> with progress_bar("Simulating", sys.stdout, quiet=0) as on_progress:
    ...     goes_on = [on_progress(Progress(done, 4)) for done in range(1, 5)]
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
def _bar(label: str, console: Any) -> Iterator[OnProgress]:
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        line = bar.add_task(label, total=None)

        def report(progress: Progress) -> None:
            bar.update(
                line, completed=progress.done, total=progress.total or None, description=_described(label, progress)
            )

        yield report


def _log(label: str, stream: IO[str], quiet: float) -> OnProgress:
    reported, start = -1, time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal reported
        tenth = LOG_STEPS * progress.done // max(progress.total, 1)
        if tenth > reported and time.monotonic() >= start + quiet:
            reported = tenth
            stream.write(f"{_described(label, progress)}: {progress.done:,} of {progress.total:,}\n")
            stream.flush()

    return report


def _described(label: str, progress: Progress) -> str:
    return f"{label} ({progress.text})" if progress.text else label
