"""Progress bars at the edge: long work gets a callback, and an interrupt asks it to stop with what it has."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """report(done, total, label): moves the bar; False asks the work to stop and return what it has."""

    def __call__(self, done: int, total: int, label: str | None = None) -> bool:
        """Move the bar."""


@contextmanager
def progress(label: str, *, visible: bool) -> Iterator[Report]:
    """A bar on the terminal's error stream, if there is a terminal.

    Ctrl-C makes the work stop at its next report, with what it has; pressed again it stops everything at once.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    stopped: list[bool] = []
    console = Console(stderr=True)

    def stop(*_: object) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)
        console.print("Stopping after the step at hand. Ctrl-C again stops at once.")

    before = signal.signal(signal.SIGINT, stop)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = not (visible and console.is_terminal)
    try:
        with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
            line = bar.add_task(label, total=None)

            def report(done: int, total: int, label: str | None = None) -> bool:
                bar.update(line, completed=done, total=total, description=label)
                return not stopped

            yield report
    finally:
        signal.signal(signal.SIGINT, before)
