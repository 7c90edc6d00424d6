"""Where the regret of a plan comes from, box by box."""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.certify import Certificate
from banditree.errors import InvalidInput
from banditree.figures.axes import tick_label, tick_step
from banditree.figures.scene import FAINT, GREY, INK, PALETTE, Line, Scene, Shape, Text, fitted, rectangle
from banditree.nouns import plural
from banditree.plans.plan import Form, Plan, by_place
from banditree.plans.wording import box_action, given
from banditree.plans.words import capital

MOST_BARS = 20
BAR, PITCH, NAMES, WIDTH = 12.0, 18.0, 170.0, 430.0


@dataclass(frozen=True)
class Spent:
    """The regret spent at a box: the mean over tasks, the most, and the task with the most. label: what it gives."""

    number: int
    label: str
    is_leaf: bool
    mean: float
    most: float
    task: str


@dataclass(frozen=True)
class SpendingInfo:
    """The boxes that cost most, in the order of their numbers, and the mean regret of all others together."""

    spent: tuple[Spent, ...]
    rest: float
    total: float
    task_word: str


def spending_info(plan: Plan, certificate: Certificate) -> SpendingInfo:
    """The regret of every box, averaged over tasks: tests cost while they find out, leaves where they are wrong.

    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> from banditree.certificates.certify import certify
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> [(one.number, round(one.mean, 2)) for one in spending_info(plan, certify(plan, two)).spent]
    [(1, 14.4), (2, 0.01), (3, 0.0)]
    """
    if certificate.regret_at is None:
        raise InvalidInput("The regret of each box is known only if the certificate is exact, and this one is a bound.")
    spent_at = by_place(plan, certificate.regret_at)
    mean = np.average(spent_at, axis=0, weights=certificate.shares)
    most, task = spent_at.max(axis=0), spent_at.argmax(axis=0)
    largest = np.sort(np.argsort(-mean, kind="stable")[:MOST_BARS])
    spent = tuple(
        Spent(
            int(box) + 1,
            _label(plan, int(box)),
            not plan.rows[box].counts.exits,
            float(mean[box]),
            float(most[box]),
            certificate.tasks[task[box]],
        )
        for box in largest
    )
    return SpendingInfo(spent, float(mean.sum() - mean[largest].sum()), float(mean.sum()), plan.vocabulary.task)


def _label(plan: Plan, box: int) -> str:
    """A box by its number and what it gives; the ends of a protocol have no numbers."""
    if not plan.rows[box].counts.exits and plan.form is Form.LINES:
        return box_action(plan, box)
    scored = plan.rows[box].counts.points is not None
    return f"{box + 1}. {capital(given(plan, box)) if scored else box_action(plan, box)}"


def spending_scene(info: SpendingInfo) -> Scene:
    """A bar per box for the mean over tasks, and a tick for the task in which it costs most."""
    right = WIDTH - 30
    top = max(max(one.most for one in info.spent), 1e-9)
    step = tick_step(top)
    scale = (right - NAMES) / top
    bottom = 30 + len(info.spent) * PITCH
    shapes: list[Shape] = [Text(0, 12, "Where the regret comes from", 10.5, INK, bold=True)]
    for k in range(int(top / step + 1e-9) + 1):
        x = NAMES + k * step * scale
        shapes.append(Line(((x, 24), (x, bottom)), FAINT, 0.8))
        shapes.append(Text(x, bottom + 12, tick_label(k * step), 9.0, GREY, anchor="middle"))
    for row, one in enumerate(info.spent):
        y = 28 + row * PITCH
        colour = PALETTE[2] if one.is_leaf else PALETTE[0]
        label = fitted(one.label, NAMES - 10, 9.0)
        title = f"{one.label}: {one.mean:.4g} on average, {one.most:.4g} in {one.task}"
        shapes.append(Text(NAMES - 6, y + BAR - 3, label, 9.0, INK, anchor="end"))
        shapes.append(rectangle(NAMES, y, max(one.mean * scale, 0.5), BAR, fill=colour, title=title))
        x = NAMES + one.most * scale
        shapes.append(Line(((x, y - 1), (x, y + BAR + 1)), PALETTE[1], 2.2))
    note = f"bar: mean over {plural(info.task_word)}; tick: the {info.task_word} in which it costs most"
    shapes.append(Text(0, bottom + 30, note, 9.0, GREY))
    if info.rest > 0:
        shapes.append(Text(0, bottom + 43, f"all others together: {info.rest:.3g}", 9.0, GREY))
    first = max(info.spent, key=lambda one: one.mean)
    description = f"Mean regret {info.total:.4g}; most of it, {first.mean:.4g}, at: {first.label}."
    return Scene(WIDTH, bottom + (48 if info.rest > 0 else 35), tuple(shapes), description)
