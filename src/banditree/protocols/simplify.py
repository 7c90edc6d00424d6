"""A draft made simpler at little cost: fewer ways to score, watch lines instead of far levels, smaller numbers.

Compiled by numba: import this module where it is used, not at the top of another one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from banditree.plans.reading_load import LARGE_FROM
from banditree.protocols.draft import NO_RULE, Draft
from banditree.protocols.moves import Moves, Stopped
from banditree.protocols.screening import Screened
from banditree.protocols.search import go_on
from banditree.protocols.tables import Line, Tables
from banditree.tasks.arrays import BoolArray
from banditree.tasks.one_thread import in_one_thread

WITHIN = 0.03  # The objective may grow by this share in all ...
WITHIN_LINES = 0.01  # ... and by this for watch lines, caps and small numbers where a draft was polished before that.
STRETCH = 1.3  # A level is stretched or shrunk by this factor in looking for a better one.
LOOKS = 20  # There are at most this many passes over the lines.
RAREST = 5  # Of the ways to score, this many that the fewest lines use are tried to do without.
Changes = Callable[[Draft], Iterator[Draft]]  # drafts that differ from a given one in one thing


def simplified(moves: Moves, draft: Draft, polishing: int = 0) -> Draft:
    """The draft with as little to read as costs at most 3% more; spends steps of `moves` while there are any.

    polishing: further steps, in which the draft is improved with the ways to score that are left to it.
    """
    most = (1 + WITHIN) * moves.objective(draft)
    draft = _fewer_ways(moves, draft, most)
    if polishing:
        moves.last += polishing
        draft = _polished(moves, draft)
        most = min(most, (1 + WITHIN_LINES) * moves.objective(draft))
    for changes in (_without_rule, _watching, _uncapped, _smaller_numbers):
        draft = _while_cheap(moves, draft, changes, most)
    return draft


def _fewer_ways(moves: Moves, draft: Draft, most: float) -> Draft:
    """The draft without those ways to score that it can do without."""
    tables = moves.tables
    try:
        with in_one_thread():
            while (fewer := _best_without_one(moves, tables, draft, most)) is not None:
                draft = fewer
    except Stopped:
        pass
    finally:
        moves.tables = tables
    return draft


def _polished(moves: Moves, draft: Draft) -> Draft:
    """The best draft that chains of moves find from a given one with no other ways to score."""
    tables = moves.tables
    moves.tables = _restricted(tables, set(_used(draft)))
    try:
        return go_on(moves, draft)
    finally:
        moves.tables = tables


def _while_cheap(moves: Moves, draft: Draft, changes: Changes, most: float) -> Draft:
    """The draft after the cheapest of some changes, again and again while the objective allows it."""
    while True:
        cheapest = min(changes(draft), key=moves.objective, default=None)
        if cheapest is None or moves.objective(cheapest) > most:
            return draft
        draft = cheapest


def _without_rule(draft: Draft) -> Iterator[Draft]:
    if draft.rule != NO_RULE:
        yield draft.with_rule(NO_RULE)


def _uncapped(draft: Draft) -> Iterator[Draft]:
    """No cap on the score of each watch line that has one, and of the rule."""
    for n in range(draft.n_lines):
        if draft.line(n).cap:
            yield _changed(draft, n, draft.line(n)._replace(cap=0))
    if draft.rule != NO_RULE and draft.tables.rules[draft.rule, 2]:
        template, floor, _cap, level, over = draft.tables.rules[draft.rule]
        same = (draft.tables.rules == (template, floor, 0, level, over)).all(axis=1)
        yield draft.with_rule(int(np.flatnonzero(same)[0]))


def _watching(draft: Draft) -> Iterator[Draft]:
    """A watch line instead of each score line that stays with its arm above, with any floor."""
    tables = draft.tables
    for n in range(draft.n_lines):
        line = draft.line(n)
        if line.ceil and draft.links[n, 1] == tables.arm[line.way]:
            for floor in tables.levels * tables.templates.unit[tables.template[line.way]]:
                yield _changed(draft, n, Line(line.way, int(floor), 0))


def _smaller_numbers(draft: Draft) -> Iterator[Draft]:
    """The next smaller round level instead of each large one, down to the first that is not large."""
    for n in range(draft.n_lines):
        line = draft.line(n)
        smaller = [level for level in draft.tables.levels if level <= LARGE_FROM][-1]
        if line.ceil > LARGE_FROM:
            yield _changed(draft, n, line._replace(ceil=int(smaller)))
        if line.floor > LARGE_FROM:
            yield _changed(draft, n, line._replace(floor=int(smaller)))


def _changed(draft: Draft, n: int, line: Line) -> Draft:
    """The draft with another line n, which leads where it did."""
    low, high = (int(place) for place in draft.links[n])
    return draft.with_line(n, line, draft.tables.exits(line), (low, high if line.ceil else low))


def _used(draft: Draft) -> Counter[int]:
    """How many lines, or the rule, use each template."""
    tables = draft.tables
    used = Counter(int(tables.template[way]) for way in draft.lines[:, 0])
    if draft.rule != NO_RULE:
        used[int(tables.rules[draft.rule, 0])] += 1
    return used


def _best_without_one(moves: Moves, tables: Tables, draft: Draft, most: float) -> Draft | None:
    """The draft without one of its ways to score, the one that costs least, or None if each costs too much."""
    used = _used(draft)
    if len(used) < 2:
        return None
    rarest = sorted(used, key=lambda template: (used[template], template))[:RAREST]
    fewer = [_without(moves, tables, draft, template, set(used) - {template}) for template in rarest]
    best = min(filter(moves.allows, fewer), key=moves.objective, default=None)
    return best if best is not None and moves.objective(best) <= most else None


def _without(moves: Moves, tables: Tables, draft: Draft, template: int, kept: set[int]) -> Draft:
    """The draft with other lines instead of those that use a template, of the ways to score that are kept."""
    moves.tables = _restricted(tables, kept)
    for n in np.flatnonzero(tables.template[draft.lines[:, 0]] == template):
        if n < draft.n_lines:
            choice = moves.choose(draft, int(n), draft.visits[n], draft.first_line + int(n), None)
            draft = draft.with_line(int(n), choice.line, choice.exits, choice.links)
    if draft.rule != NO_RULE and tables.rules[draft.rule, 0] == template:
        draft = moves.ruled(draft.with_rule(NO_RULE))
    return moves.sweep(draft)


def _restricted(tables: Tables, kept: set[int]) -> Tables:
    """The tables with lines and rules of some templates only."""
    templates = np.array(sorted(kept))
    rows = np.isin(tables.template[tables.rows[:, 0]], templates)
    watch = np.isin(tables.template[tables.watch_rows[:, 0]], templates)
    return replace(
        tables,
        rows=tables.rows[rows],
        screened=_columns(tables.screened, rows),
        watch_rows=tables.watch_rows[watch],
        watch_screened=_columns(tables.watch_screened, watch),
        rule_allowed=np.isin(tables.rules[:, 0], templates),
    )


def _columns(lines: Screened, kept: BoolArray) -> Screened:
    return Screened(*(np.ascontiguousarray(table[:, kept]) for table in lines))


def with_free_numbers(moves: Moves, draft: Draft) -> Draft:
    """The draft with levels between the round ones where these are better."""
    for _ in range(LOOKS):
        before = draft
        for n in range(draft.n_lines):
            line = draft.line(n)
            for changed in _other_levels(line):
                draft = moves.better(draft, _changed(draft, n, changed))
        if draft is before:
            break
    return draft


def _other_levels(line: Line) -> Iterator[Line]:
    for name in ("floor", "ceil") if line.ceil else ("floor",):
        level = getattr(line, name)
        for other in sorted({level - 1, level + 1, int(level / STRETCH), int(level * STRETCH)}):
            if other >= 1:
                yield line._replace(**{name: other})
