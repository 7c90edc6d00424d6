"""What a job tells the worker that watches it: how far it is, what it found, and what came of it."""

from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from banditree.progress import Progress
from banditree.service.store.jobs import State


class Ended(NamedTuple):
    """What came of a job."""

    state: State
    result: str | None
    problem: str | None


class Reports:
    """The callback for the progress of a job, which also hears whether to go on."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self.stopped = pipe, False

    def __call__(self, progress: Progress) -> bool:
        """Say how far the work is; False once it is to stop with the best so far."""
        self.stopped = self.stopped or self._pipe.poll()
        self._pipe.send(progress)
        return not self.stopped

    def found(self, one: dict[str, Any]) -> None:
        """Show something that was found, as JSON data, before the work is done."""
        self._pipe.send(one)
