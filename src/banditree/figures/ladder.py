"""The picture of a plan as data: a ladder of rows that is read downwards, with the ends inside the rows.

Every test or line is a row, in reading order. A way out of a row is an end (drawn in the row), the next row, or a jump
to another one, which is drawn at the side.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from banditree.errors import invalid
from banditree.figures.reach import ReachInfo
from banditree.nouns import plural
from banditree.plans.context_wording import note_sentences, prediction_lines
from banditree.plans.explaining import reading_notes
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import (
    box_action,
    end_phrase,
    exits,
    foot_sentences,
    heading,
    rule_sentence,
    unit,
    what_for,
)
from banditree.plans.words import Vocabulary, capital

MANY_ROWS = 1500  # A drawing of more rows is of no use to anybody.
FEW_NAMES = 60  # Task names of this many characters are written out beside a row; the rest is counted.
LIKELY = 0.05  # A task is named beside a row if at least this share of the cases there is of it.


class Leads(StrEnum):
    """Where a way out of a row leads."""

    END = "end"
    NEXT = "next"
    SKIP = "skip"
    BACK = "back"


@dataclass(frozen=True)
class Way:
    """A way out of a row: its condition, what to do then, the number of the box it leads to, and where that is."""

    when: str
    then: str
    box: int
    leads: Leads


@dataclass(frozen=True)
class Row:
    """One numbered row: who may still be there, what to do, and the ways out; none from a row that is an end itself."""

    number: int
    possible: str
    action: str
    ways: tuple[Way, ...]
    members: tuple[int, ...] | None


@dataclass(frozen=True)
class LadderInfo:
    """A whole plan as rows. unit: the word for a row. rule: the sentences at the foot, or "". notes: how to read it.
    predictions: line by line, the predictions that a contextual plan goes by; its rules by kind are among the notes."""

    title: str
    rows: tuple[Row, ...]
    n_boxes: int
    unit: str
    rule: str
    notes: tuple[str, ...]
    tasks: tuple[str, ...]
    task_word: str
    predictions: tuple[str, ...] = ()
    words: Vocabulary = field(default_factory=Vocabulary)
    what: str = ""  # what the plan is about, without how large it is

    @property
    def in_lines(self) -> bool:
        """Whether a row is a line of a protocol, with its ends inside."""
        return self.unit == self.words.say("line")

    def place(self, number: int) -> int | None:
        """The place of the row with this number, counted from 0, or None if that box is an end."""
        return next((place for place, row in enumerate(self.rows) if row.number == number), None)


def ladder_info(plan: Plan, reach: ReachInfo | None = None, loss: str = "") -> LadderInfo:
    """The rows of `plan` in words. reach: says who is likely to be at a row where the plan itself does not.

    loss: a sentence on what the plan loses, for the heading.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    >>> (row,) = ladder_info(build_tree(two, horizon=4000)).rows
    >>> row.possible, row.action, [(way.when, way.then) for way in row.ways]  # doctest: +NORMALIZE_WHITESPACE
    ('Any of 2 tasks', 'Give A 113 times',
     [('At most 56 successes', 'Task severe: give B from now on'), ('Otherwise', 'Task mild: give A from now on')])
    """
    tests = plan.tests or (0,)
    place = {box: number for number, box in enumerate(tests)}
    rows = tuple(_row(plan, box, place, reach) for box in tests)
    return LadderInfo(
        title=heading(plan, loss),
        rows=rows,
        n_boxes=plan.n_places,
        unit=unit(plan),
        rule=" ".join([*([] if plan.rule is None else [rule_sentence(plan)]), *foot_sentences(plan)]),
        notes=(*note_sentences(plan), *reading_notes(plan)),
        tasks=plan.tasks,
        task_word=plan.vocabulary.task,
        predictions=tuple(prediction_lines(plan)),
        words=plan.vocabulary,
        what=what_for(plan),
    )


def require_drawable(info: LadderInfo) -> None:
    """Raise if there are more rows than a picture can show."""
    if len(info.rows) > MANY_ROWS:
        rule = f"at most {MANY_ROWS:,} {plural(info.unit)} that are not ends"
        raise invalid("a plan to be drawn", rule, len(info.rows), "Show it as text.")


def _row(plan: Plan, box: int, place: dict[int, int], reach: ReachInfo | None) -> Row:
    possible = plan.rows[box].possible
    members = None if possible is None else tuple(plan.task_numbers[task] for task in possible)
    ways = []
    for way in exits(plan, box):
        if way.box not in place:
            ways.append(Way(way.when, end_phrase(plan, box, way.box), way.box + 1, Leads.END))
            continue
        step = place[way.box] - place[box]
        leads = Leads.NEXT if step == 1 else Leads.SKIP if step > 1 else Leads.BACK
        ways.append(Way(way.when, way.then, way.box + 1, leads))
    spelled = plan.form is Form.BOXES or box == 0
    action = box_action(plan, box, spelled) if ways else capital(end_phrase(plan, box, box))
    return Row(box + 1, _possible(plan, box, members, reach), action, tuple(ways), members)


def _possible(plan: Plan, box: int, members: tuple[int, ...] | None, reach: ReachInfo | None) -> str:
    """The likely tasks of the cases that get to a line, or the tasks still possible by the plan's own tests."""
    if reach is not None and (members is None or plan.form is Form.LINES):
        return _likely(plan, box, reach)
    if members is None:
        return ""
    if len(members) == len(plan.tasks):
        return _anybody(plan)
    words = plan.vocabulary
    names = [words.quoted(plan.tasks[i]) for i in members]
    if len(names) <= 2 or sum(len(name) + 2 for name in names) <= FEW_NAMES:
        either = words.language.meant("between kinds", " or ")
        return either.join(filter(None, [", ".join(names[:-1]), names[-1]]))
    shown: list[str] = []
    while names and sum(len(name) + 2 for name in shown) + len(names[0]) <= FEW_NAMES // 2:
        shown.append(names.pop(0))
    tasks = words.counted(len(plan.tasks), "task")
    return words.say("{n} of {tasks}: {names}, ...", n=len(members), tasks=tasks, names=", ".join(shown))


def _anybody(plan: Plan) -> str:
    return plan.vocabulary.say("Any of {tasks}", tasks=plan.vocabulary.counted(len(plan.tasks), "task"))


def _likely(plan: Plan, box: int, reach: ReachInfo) -> str:
    """Of the cases at a box, if all tasks are equally likely at first: the tasks with a fair share, largest first."""
    if box == 0:
        return _anybody(plan)
    words = plan.vocabulary
    share = reach.chance[:, box] / max(float(reach.chance[:, box].sum()), 1e-300)
    order = [int(i) for i in (-share).argsort(kind="stable") if share[i] >= LIKELY]
    parts = [f"{words.quoted(plan.tasks[i])} {words.percent(f'{100 * share[i]:.0f}')}" for i in order]
    shown = [part for n, part in enumerate(parts) if sum(len(p) + 2 for p in parts[: n + 1]) <= FEW_NAMES]
    return ", ".join(shown) + (", ..." if len(shown) < len(parts) else "")
