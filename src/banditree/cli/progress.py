"""Progress bars at the edge: long work gets a callback, and an interrupt asks it to stop with what it has."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from banditree.progress import OnProgress, Progress


@contextmanager
def progress(label: str, *, visible: bool) -> Iterator["OnProgress"]:
    """A bar on the terminal's error stream, or lines in a log.

    Ctrl-C makes the work stop at its next report, with what it has; pressed again it stops everything at once.
    """
    from contextlib import nullcontext

    from banditree.figures.progress import progress_bar

    stopped: list[bool] = []

    def stop(*_: object) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)
        sys.stderr.write("Stopping after the step at hand. Ctrl-C again stops at once.\n")

    before = signal.signal(signal.SIGINT, stop)
    try:
        with progress_bar(label) if visible else nullcontext() as bar:

            def report(progress: "Progress") -> bool:
                if bar is not None:
                    bar(progress)
                return not stopped

            yield report
    finally:
        signal.signal(signal.SIGINT, before)
