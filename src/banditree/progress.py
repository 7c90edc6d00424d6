"""How long-running work reports its progress and is told to stop: one signature for the whole library."""

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
