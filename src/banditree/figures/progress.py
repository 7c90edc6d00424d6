"""A progress bar for long work that reads well in terminals, notebooks and logs alike."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

OnProgress = Callable[[int, int], bool]
LOG_STEPS = 10  # lines in a log, at most


@contextmanager
def progress_bar(what: str, unit: str = "steps", stream: IO[str] | None = None) -> Iterator[OnProgress]:
    """A callback on_progress(done, total) that draws a bar in a terminal or a notebook, and in a log a line per tenth.

    Give it to any function of banditree that takes `on_progress`.

    >>> with progress_bar("Simulating", stream=sys.stdout) as on_progress:
    ...     goes_on = [on_progress(done, 4) for done in range(1, 5)]
    Simulating: 1 of 4 steps
    Simulating: 2 of 4 steps
    Simulating: 3 of 4 steps
    Simulating: 4 of 4 steps
    """
    from rich.console import Console

    console = Console(file=stream, stderr=stream is None)
    if console.is_terminal or console.is_jupyter:
        with _bar(what, unit, console) as on_progress:
            yield on_progress
    else:
        yield _log(what, unit, stream or sys.stderr)


@contextmanager
def _bar(what: str, unit: str, console: object) -> Iterator[OnProgress]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = [TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn()]
    with Progress(*shown, console=console, transient=True) as bar:  # type: ignore[arg-type]
        line = bar.add_task("", total=None)

        def on_progress(done: int, total: int) -> bool:
            bar.update(line, completed=done, total=total)
            return True

        yield on_progress


def _log(what: str, unit: str, stream: IO[str]) -> OnProgress:
    reported = -1

    def on_progress(done: int, total: int) -> bool:
        nonlocal reported
        tenth = LOG_STEPS * done // max(total, 1)
        if tenth > reported:
            reported = tenth
            stream.write(f"{what}: {done:,} of {total:,} {unit}\n")
            stream.flush()
        return True

    return on_progress
