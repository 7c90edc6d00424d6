"""What 1,000 cases lose, each of them a dot: the average is not what one of them meets."""

from dataclasses import dataclass

import numpy as np

from banditree.certificates.unlucky import Unlucky
from banditree.figures.scene import GREY, INK, PALETTE, Scene, Shape, Text, fitted, rectangle
from banditree.plans.plan import Plan
from banditree.plans.words import amount, named, quoted

ACROSS, PITCH, LARGEST, LEAST = 50, 8.6, 4.1, 0.5  # Dots in a row, between two of them, and their radii.
TOP, LEGEND = 34.0, 14.0
GROUPS = ((900, PALETTE[5]), (990, PALETTE[0]), (999, PALETTE[4]), (1000, PALETTE[1]))  # Up to which dot, its colour.


@dataclass(frozen=True)
class LossesInfo:
    """What each of 1,000 cases of a task loses, the least first; of: which task; unit: of what is lost."""

    losses: tuple[float, ...]
    of: str
    unit: str


def losses_info(plan: Plan, unlucky: Unlucky, tasks: tuple[str, ...], unit: str) -> LossesInfo:
    """The task whose unlucky cases lose most.

    >>> from banditree.certificates.certify import certify
    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> info = losses_info(plan, certify(plan, two).unlucky, two.tasks, "successes")
    >>> info.of, round(info.losses[989], 1)
    ('task 2', 28.8)
    """
    of = named(plan.vocabulary.task, quoted(tasks[unlucky.task]))
    return LossesInfo(tuple(unlucky.thousand[unlucky.task].tolist()), of, unit)


def losses_scene(info: LossesInfo) -> Scene:
    """A dot per case, its area as large as its loss, in the colour of its group."""
    most, width = max(info.losses[-1], 1e-9), ACROSS * PITCH + 20
    title = fitted(f"What 1,000 cases of {info.of} lose", width, 10.5, bold=True)
    shapes: list[Shape] = [
        Text(0, 12, title, 10.5, INK, bold=True),
        Text(0, 26, "Each dot is a case, and its area is what the case loses.", 9.0, GREY),
    ]
    for place, loss in enumerate(info.losses):
        colour = next(colour for end, colour in GROUPS if place < end)
        radius = max(LARGEST * float(np.sqrt(loss / most)), LEAST)
        x, y = 10 + (place % ACROSS) * PITCH, TOP + 8 + (place // ACROSS) * PITCH
        shapes.append(rectangle(x - radius, y - radius, 2 * radius, 2 * radius, fill=colour, radius=radius))
    bottom, said = TOP + 16 + len(info.losses) / ACROSS * PITCH, _legend(info)
    for line, ((_, colour), text) in enumerate(zip(GROUPS, said, strict=True)):
        y = bottom + line * LEGEND
        shapes.append(rectangle(6, y, 8, 8, fill=colour, radius=4.0))
        shapes.append(Text(20, y + 8, text, 9.0, INK))
    return Scene(width, bottom + len(GROUPS) * LEGEND, tuple(shapes), f"{title}: {'; '.join(said)}.")


def _legend(info: LossesInfo) -> list[str]:
    """What each group of dots loses."""
    texts, start = [], 0
    for end, _ in GROUPS:
        low, high = amount(info.losses[start]), amount(info.losses[end - 1])
        n = f"{end - start:,} {'case loses' if end - start == 1 else 'cases lose'}"
        texts.append(f"{n} {low if low == high else f'{low} to {high}'} {info.unit}")
        start = end
    return texts
