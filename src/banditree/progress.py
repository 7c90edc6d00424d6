"""How long-running work reports its progress and is told to stop: one signature for the whole library."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """How far a piece of work has come: `done` of `total` units, the `best` value so far, and where it is (`text`).

    best is None where nothing is being optimised. total may grow while the work goes on; 0 means that it is unknown.
    """

    done: int
    total: int
    best: float | None = None
    text: str = ""


OnProgress = Callable[[Progress], bool | None]  # returning False stops the work, which then gives its best so far


def goes_on(on_progress: OnProgress | None, done: int, total: int, best: float | None = None, text: str = "") -> bool:
    """Report progress and return whether to go on, which is always so when nobody listens.

    >>> goes_on(None, 1, 4), goes_on(print, 2, 4), goes_on(lambda progress: progress.done < 3, 3, 4)
    Progress(done=2, total=4, best=None, text='')
    (True, True, False)
    """
    return on_progress is None or on_progress(Progress(done, total, best, text)) is not False


def named_part(on_progress: OnProgress | None, text: str) -> OnProgress | None:
    """The callback for one part of the work: its reports carry the name of the part.

    >>> goes_on(named_part(print, "soft coefficient"), 2, 4)
    Progress(done=2, total=4, best=None, text='soft coefficient')
    True
    """
    return None if on_progress is None else lambda progress: on_progress(replace(progress, text=text))


class Clock:
    """How many steps a budget in seconds has used up, for work that plans ahead by its steps.

    >>> clock = Clock(60.0, steps=1_000, done=200)
    >>> clock.begin()
    >>> clock(), clock.is_over
    (200, False)
    """

    def __init__(self, seconds: float, *, steps: int = 1, done: int = 0, whole: "Clock | None" = None) -> None:
        """steps: what the seconds stand for. done: steps before. whole: a clock that begins with this one."""
        self.seconds, self.steps, self.done, self.whole = seconds, steps, done, whole
        self.began: float | None = None

    def begin(self) -> None:
        """Time counts from here on, if it does not yet."""
        if self.began is None:
            self.began = time.monotonic()
        if self.whole is not None:
            self.whole.begin()

    def __call__(self) -> int:
        """The steps that are used up, those before included; they go on when time is up."""
        passed = 0.0 if self.began is None else time.monotonic() - self.began
        return self.done + int(self.steps * passed / self.seconds)

    @property
    def is_over(self) -> bool:
        """Whether time is up."""
        return self() >= self.done + self.steps

    def ending(self, on_progress: OnProgress | None) -> OnProgress:
        """The callback that says stop, too, when time is up.

        >>> Clock(60.0).ending(None)(Progress(1, 4))
        True
        """

        def report(progress: Progress) -> bool:
            return (
                goes_on(on_progress, progress.done, progress.total, progress.best, progress.text) and not self.is_over
            )

        return report
