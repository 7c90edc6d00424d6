"""How much more a loss counts that one stay makes: the unlucky lose nearly all they lose in one long stay.

A stay on a line or at an end that loses x counts as x + extra (x - bearable (1 - exp(-x / bearable))): nearly x where x
is small, and (1 + extra) times as much for what is beyond the bearable. This is a cost of the stay alone, so that the
values of drafts remain linear in it.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from banditree.certificates.discounted import watch_exits
from banditree.tasks.arrays import FloatArray, IntArray


class Care(NamedTuple):
    """How many times more a loss counts beyond what is bearable."""

    extra: float
    bearable: float


NO_CARE = Care(0.0, 1.0)
BEARABLE = 4.0  # Times what a plan loses on average in its worst kind: the worst 1% of mTS lose about that.


def care_beyond(usual: float, extra: float) -> Care:
    """The care of a search whose plans usually lose this much."""
    return Care(extra, BEARABLE * usual) if usual > 0.0 else NO_CARE


@register_jitable
def felt(loss: Any, care: Care) -> Any:
    """What stays of some expected losses count if their lengths are exponential, as where only the horizon ends them.

    >>> felt(np.array([1.0, 60.0]), Care(extra=20.0, bearable=20.0)).round(1).tolist()
    [2.0, 960.0]
    """
    return loss * (1.0 + care.extra * loss / (care.bearable + loss))


def watched_stays(
    points: IntArray,
    chance: FloatArray,
    going: float,
    floors: IntArray,
    caps: IntArray,
    costs: FloatArray,
    care: Care,
) -> tuple[FloatArray, FloatArray]:
    """(down, rounds), (caps, floors, S), of watching an arm of which a round costs `costs` (S,); what counts more is
    more rounds."""
    down, rounds = watch_exits(points, chance, going, floors, caps)
    if care.extra:
        bearable = watch_exits(points, chance, going * np.exp(-costs / care.bearable), floors, caps)[1]
        rounds += care.extra * (rounds - bearable)
    return down, rounds
