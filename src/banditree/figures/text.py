"""The ladder as text for a terminal: row by row with the ends inside, in colour where that is wanted."""

from banditree.figures.ladder import LadderInfo, Leads, Row, Way
from banditree.plans.words import Vocabulary

RESET = "\x1b[0m"
COLOURS = {"number": "\x1b[1m", "possible": "\x1b[2m", "action": "\x1b[36m", "when": "\x1b[33m", "end": "\x1b[1;32m"}


def ladder_text(info: LadderInfo, colour: bool = False) -> str:
    """A heading, the rows with their ways out, and the rule.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> from banditree.figures.ladder import ladder_info
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    >>> print(ladder_text(ladder_info(build_tree(two, horizon=4000))).split("\\n", 2)[2])
    1. Give A 113 times.  (Any of 2 tasks)
       At most 56 successes: Task severe: give B from now on.
       Otherwise: Task mild: give A from now on.
    """
    lines = [info.title, ""]
    for row in info.rows:
        lines += [_one_line(info, row, colour)] if info.in_lines else _lines(info, row, colour)
    if info.rule:
        lines += ["", info.rule]
    if info.notes:
        lines += ["", *(_paint(note, "possible", colour) for note in info.notes)]
    if info.predictions:
        lines += ["", *info.predictions]
    return "\n".join(lines)


def _one_line(info: LadderInfo, row: Row, colour: bool) -> str:
    """A line of a protocol, as it is printed everywhere; behind it who may be there, unless that is everybody."""
    first, *ways = _lines(info, row, colour, where="")
    somebody = row.members is not None and len(row.members) < len(info.tasks)
    return " ".join([first, *map(str.strip, ways)]) + (_possible(row, colour) if somebody else "")


def _lines(info: LadderInfo, row: Row, colour: bool, where: str | None = None) -> list[str]:
    """A row with a line of its own for each way out. where: who may be there, if not as the row says."""
    number = _paint(f"{row.number}.", "number", colour)
    action = _paint(row.action, "action" if row.ways else "end", colour)
    inset = " " * (len(str(row.number)) + 2)
    first = f"{number} {action}.{_possible(row, colour) if where is None else where}"
    return [first, *(f"{inset}{_way(info.words, way, colour)}" for way in row.ways)]


def _possible(row: Row, colour: bool) -> str:
    return f"  {_paint(f'({row.possible})', 'possible', colour)}" if row.possible else ""


def _way(words: Vocabulary, way: Way, colour: bool) -> str:
    then = _paint(way.then, "end", colour) if way.leads is Leads.END else way.then
    return words.say(" {when}: {then}.", when=_paint(way.when, "when", colour), then=then).strip()


def _paint(text: str, what: str, colour: bool) -> str:
    return f"{COLOURS[what]}{text}{RESET}" if colour else text
