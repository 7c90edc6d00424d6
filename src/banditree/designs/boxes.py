"""From the rules of a design, "after this, do that", to the boxes of a plan."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from banditree.errors import invalid
from banditree.plans.counts import Rounds
from banditree.plans.gives import Give
from banditree.plans.line import Exit, Line
from banditree.plans.links import reading_order
from banditree.plans.plan import renumbered

MOST_BOXES = 20_000  # More than anybody prints; a certificate of as many takes seconds.


@dataclass(frozen=True)
class Test:
    """Give an arm for some rounds: at most `at_most` successes lead to the situation `low`, more to `high`."""

    arm: str
    rounds: int
    at_most: int
    low: Any
    high: Any


Situation = Any  # What is known so far, as a design counts it; anything that can be a key.
Rule = Callable[[Situation], Test | str]  # What to do in a situation: a test, or the arm to settle on.


def boxes(start: Situation, rule: Rule) -> tuple[Line, ...]:
    """The boxes of a design whose situations never come again; situations from which all goes on alike are one box.

    >>> def two_of_three(known):
    ...     rounds, successes = known
    ...     if successes == 2 or rounds - successes == 2:
    ...         return "A" if successes == 2 else "B"
    ...     return Test("A", 1, 0, (rounds + 1, successes), (rounds + 1, successes + 1))
    >>> len(boxes((0, 0), two_of_three))  # four tests and two ends
    6
    """
    lines: list[Line] = []
    place: dict[Line, int] = {}
    known: dict[Situation, int] = {}
    for situation, what in _last_first(start, rule):
        line = _line(what, known, lines)
        if line not in place:
            place[line] = len(lines)
            lines.append(line)
        known[situation] = place[line]
    first = known[start]
    order = [first, *(number for number in range(len(lines)) if number != first)]
    listed = renumbered(lines, order)
    links = [[target - 1 for target in line.targets if isinstance(target, int)] for line in listed]
    return renumbered(listed, reading_order(links))


def _line(what: Test | str, known: dict[Situation, int], lines: list[Line]) -> Line:
    """A box; one whose result does not matter takes in a following one with the same arm that does not either."""
    if isinstance(what, str):
        return Line(Give(what))
    below, above = known[what.low] + 1, known[what.high] + 1
    if below != above:
        return Line(Give(what.arm), Rounds(what.rounds, what.at_most), below, above)
    after = lines[below - 1]
    if isinstance(after.counts, Rounds) and after.below == after.above and after.gives == Give(what.arm):
        return replace(after, counts=_whatever(what.rounds + after.counts.rounds))
    target: Exit = below
    return Line(Give(what.arm), _whatever(what.rounds), target, target)


def _whatever(rounds: int) -> Rounds:
    return Rounds(rounds, rounds)


def _last_first(start: Situation, rule: Rule) -> list[tuple[Situation, Test | str]]:
    """Every situation that can come, with what is done, after those that it leads to."""
    found: dict[Situation, Test | str] = {}
    order: list[tuple[Situation, Test | str]] = []
    todo: list[tuple[Situation, bool]] = [(start, False)]
    while todo:
        situation, done = todo.pop()
        if done:
            order.append((situation, found[situation]))
        elif situation not in found:
            what = found[situation] = rule(situation)
            if len(found) > MOST_BOXES:
                raise invalid("a design", f"one of at most {MOST_BOXES:,} situations", f"more than {MOST_BOXES:,}")
            todo.append((situation, True))
            if isinstance(what, Test):
                todo += [(what.low, False), (what.high, False)]
    return order
