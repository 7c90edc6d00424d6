"""What the service lives by: if any of it ends before its time, the service is not ready and the process stops."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from banditree.service.problems import Unavailable

log = logging.getLogger("banditree.service")


class Life:
    """Notes what has ended before its time. stop: told once, so that whoever runs the process ends and restarts it."""

    def __init__(self) -> None:
        self.lost: str | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self.stop: Callable[[], None] = lambda: None

    def lose(self, what: str, error: BaseException | None) -> None:
        """A part of the service has ended."""
        log.critical("lost", exc_info=error, extra={"fields": {"part": what}})
        if self.lost is None:
            self.lost = what
            self.stop()

    def check(self) -> None:
        """Raise `Unavailable` if anything is lost."""
        if self.lost is not None:
            raise Unavailable(f"The service has lost its {self.lost} and is to be restarted; its log says why.")

    def start(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        """Start a task that goes on until `end`."""
        task = asyncio.create_task(work, name=what)
        task.add_done_callback(self._notice)
        self.tasks.append(task)

    def end(self) -> None:
        """End the tasks, since the service ends."""
        for task in self.tasks:
            task.remove_done_callback(self._notice)
            task.cancel()

    def _notice(self, task: asyncio.Task[None]) -> None:
        self.lose(task.get_name(), None if task.cancelled() else task.exception())
