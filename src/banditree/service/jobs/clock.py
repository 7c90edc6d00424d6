"""The time that a job has: compiling, which happens once after an installation, does not count."""

import time
from multiprocessing.connection import Connection
from typing import NamedTuple

MOST_COMPILING = 600.0  # Seconds of compiling that do not count; the search takes about a minute on one core.
COMPILING = "compiling, which happens once after an installation"


class Compiling(NamedTuple):
    """Sent by a job when it begins to compile something, and when that is done."""

    begins: bool


class Clock:
    """When a job is to end: some seconds from now, and later by what it spends compiling, up to a limit."""

    def __init__(self, seconds: float) -> None:
        self.until, self._spare = time.monotonic() + seconds, MOST_COMPILING
        self._since: float | None = None

    def hear(self, told: Compiling) -> None:
        """The job begins to compile, or goes on with its work."""
        now = time.monotonic()
        if told.begins:
            self._since = now
        elif self._since is not None:
            spent = min(now - self._since, self._spare)
            self.until, self._spare, self._since = self.until + spent, self._spare - spent, None

    def is_over(self) -> bool:
        """Whether the time is up."""
        now = time.monotonic()
        compiling = 0.0 if self._since is None else min(now - self._since, self._spare)
        return now - compiling > self.until

    def leave(self, seconds: float) -> None:
        """From now on, or from when the time was up, there are only these seconds."""
        self.until = min(self.until, time.monotonic()) + seconds


def tell_of_compiling(pipe: Connection) -> None:
    """Have this process send `Compiling` whenever numba begins to compile, and when it is done."""
    from numba.core import event

    class Teller(event.Listener):
        depth = 0  # compiling one function compiles those that it calls

        def on_start(self, event: object) -> None:
            self.depth += 1
            if self.depth == 1:
                pipe.send(Compiling(True))

        def on_end(self, event: object) -> None:
            self.depth -= 1
            if self.depth == 0:
                pipe.send(Compiling(False))

    event.register("numba:compile", Teller())  # type: ignore[no-untyped-call]
