"""The flowchart of a plan as data: what each box says and where it leads.

Every test hangs once in a tree, below the first box that leads to it; any other way to it (equal sets of tasks share a
box, and score plans lead back) is a link, drawn as a small oval that names the box. So lines never cross. A leaf is no
larger than a link to it, and is drawn wherever a case may end there.
"""

from collections import deque
from dataclasses import dataclass

from banditree.errors import invalid
from banditree.plans.plan import NONE, BoxKind, Plan
from banditree.plans.wording import (
    box_action,
    counted,
    exits,
    heading,
    named,
    plural,
    prediction_lines,
    quoted,
)

MANY_BOXES = 3000  # a drawing of more boxes is of no use to anybody
FEW_NAMES = 60  # characters of task names that are written out in a box; the rest is counted


@dataclass(frozen=True)
class Branch:
    """A way out of a box: its answer, the number of the box it leads to, and whether that box hangs here."""

    answer: str
    target: int
    hangs: bool


@dataclass(frozen=True)
class BoxInfo:
    """One numbered box: the state on arrival, the action, and for a test the question and its branches, yes first."""

    number: int
    state: str
    action: str
    question: str
    branches: tuple[Branch, ...]
    possible: tuple[int, ...] | None

    @property
    def is_leaf(self) -> bool:
        """Whether the arm of this box is used for good."""
        return not self.branches


@dataclass(frozen=True)
class FlowchartInfo:
    """A whole flowchart; box number n is `boxes[n - 1]`. `legend` says what each symbol stands for, and `predictions`,
    line by line, how the arm of a contextual plan is found at the end."""

    title: str
    boxes: tuple[BoxInfo, ...]
    tasks: tuple[str, ...]
    task_word: str
    legend: tuple[tuple[str, str], ...]
    predictions: tuple[str, ...] = ()

    def box(self, number: int) -> BoxInfo:
        """The box with this number."""
        return self.boxes[number - 1]


def flowchart_info(plan: Plan) -> FlowchartInfo:
    """The boxes of `plan` in words, and the tree in which they hang.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], arms=["A", "B"], tasks=["mild", "severe"])
    >>> first = flowchart_info(build_tree(two, horizon=4000)).box(1)
    >>> first.action, first.question, first.branches[0].target
    ('Give A 113 times', 'At most 56 successes?', 2)
    """
    hanging = _hanging(plan)
    boxes = tuple(_box_info(plan, box, hanging) for box in range(plan.n_boxes))
    words = plan.vocabulary
    legend = (
        ("state", f"which {plural(words.task)} are still possible"),
        ("action", f"what to {words.give.lower()}, and how often"),
        ("decision", "a question: yes leads right, no leads down"),
        ("link", "go on at the box with this number"),
    )
    predictions = () if plan.theta is None else tuple(prediction_lines(plan))
    return FlowchartInfo(heading(plan), boxes, plan.tasks, words.task, legend, predictions)


def require_drawable(info: FlowchartInfo) -> None:
    """Raise if there are more boxes than a picture can show."""
    if len(info.boxes) > MANY_BOXES:
        raise invalid("a plan to be drawn", f"at most {MANY_BOXES:,} boxes", len(info.boxes), "Show it as text.")


def _hanging(plan: Plan) -> list[tuple[int, int]]:
    """For each box, the box and the answer below which it hangs: the first that leads to it, level by level."""
    place = [(NONE, NONE)] * plan.n_boxes
    place[0] = (0, NONE)
    todo = deque([0])
    while todo:
        box = todo.popleft()
        if plan.kind[box] == BoxKind.EXPLOIT:
            continue
        for side, child in enumerate(way.box for way in exits(plan, box)):
            if place[child] == (NONE, NONE):
                place[child] = (box, side)
                todo.append(child)
    return place


def _box_info(plan: Plan, box: int, hanging: list[tuple[int, int]]) -> BoxInfo:
    survivors = plan.survivors_at(box)
    possible = None if survivors is None else tuple(survivors.tolist())
    question, branches = "", tuple[Branch, ...]()
    if plan.kind[box] != BoxKind.EXPLOIT:
        question = _question(plan, box)
        branches = tuple(
            Branch(answer, way.box + 1, bool(plan.kind[way.box] == BoxKind.EXPLOIT) or hanging[way.box] == (box, side))
            for side, (answer, way) in enumerate(zip(("yes", "no"), exits(plan, box), strict=True))
        )
    return BoxInfo(box + 1, _state(plan, box, possible), box_action(plan, box), question, branches, possible)


def _state(plan: Plan, box: int, possible: tuple[int, ...] | None) -> str:
    word, task = plan.vocabulary.task, int(plan.task[box])
    if task != NONE:
        text = named(word, quoted(plan.tasks[task]))
        return text[:1].upper() + text[1:]
    if possible is None:
        return ""
    if len(possible) == len(plan.tasks):
        return f"Any of {counted(len(possible), word)}"
    names = [quoted(plan.tasks[i]) for i in possible]
    if len(names) <= 2 or sum(len(name) + 2 for name in names) <= FEW_NAMES:
        return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    shown: list[str] = []
    while names and sum(len(name) + 2 for name in shown) + len(names[0]) <= FEW_NAMES // 2:
        shown.append(names.pop(0))
    return f"{len(possible)} of {counted(len(plan.tasks), word)}: {', '.join(shown)}, ..."


def _question(plan: Plan, box: int) -> str:
    """The condition of the way out that a yes takes, as a question."""
    conditions = [way.when for way in exits(plan, box)]
    if plan.kind[box] != BoxKind.SCORE:
        return f"{conditions[0]}?"
    return f"Score {' before '.join(condition.removeprefix('At ') for condition in conditions)}?"
