"""The table that helps to choose lambda: which tasks become one, what that costs, and how long the plan is."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banditree.errors import InvalidInput, PlanWarning
from banditree.scores.build import build_plan
from banditree.tasks.collection import Collection
from banditree.training.merging import merge, merge_gaps

MAX_ROWS = 12
MAX_BOXES = 20_000


@dataclass(frozen=True)
class Choice:
    """One lambda: tasks left, what merging costs a task per round at worst, and the plan's boxes and most pulls.

    boxes and pulls are None where there is no plan, and `problem` says why.
    """

    separation: float
    n_tasks: int
    suboptimality: float
    boxes: int | None = None
    pulls: int | None = None
    problem: str = ""


def choices(collection: Collection, horizon: int, separations: Sequence[float] | None = None) -> list[Choice]:
    """One row for every lambda given, or for a dozen at which the number of tasks changes.

    >>> three = Collection.bernoulli([[0.9, 0.1], [0.85, 0.2], [0.1, 0.8]])
    >>> [(row.n_tasks, row.pulls) for row in choices(three, 1000)]
    [(3, 3318), (2, 28)]
    """
    if separations is None:
        separations = _telling(collection)
    return [_choice(collection, horizon, separation) for separation in separations]


def _telling(collection: Collection) -> list[float]:
    """The least separations of what is left after no merge, one merge, and so on; a dozen of them, evenly spread."""
    gaps = np.maximum.accumulate(merge_gaps(collection.means))
    gaps = np.unique(np.round(gaps[gaps > 0], 12))  # 0.9 - 0.8 and 0.2 - 0.1 are one separation
    if len(gaps) > MAX_ROWS:
        gaps = gaps[np.unique(np.linspace(0, len(gaps) - 1, MAX_ROWS).round().astype(int))]
    return [float(gap) for gap in gaps]


def _choice(collection: Collection, horizon: int, separation: float) -> Choice:
    try:
        merged = merge(collection, separation)
    except InvalidInput as problem:
        return Choice(separation, 1, float("nan"), problem=str(problem))
    lost = min(merged.suboptimality, collection.rewards.width)  # margins may add up to more than a reward can differ
    row = Choice(separation, merged.collection.n_tasks, lost)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            plan = build_plan(merged.collection, horizon, "tree", max_boxes=MAX_BOXES)
    except InvalidInput as problem:
        return Choice(separation, row.n_tasks, row.suboptimality, problem=str(problem))
    return Choice(separation, row.n_tasks, row.suboptimality, plan.n_boxes, plan.most_pulls)


def choices_text(rows: Sequence[Choice], horizon: int) -> str:
    """The table for people."""
    lines = [
        f"Choosing the separation, for {horizon:,} rounds (--merge SEPARATION); boxes and pulls are of the tree:",
        f"{'separation':>10}  {'tasks left':>10}  {'worst loss per round':>20}  {'boxes':>7}  {'most pulls':>10}",
    ]
    for row in rows:
        size = f"no tree: {row.problem}" if row.boxes is None else f"{row.boxes:>7,}  {row.pulls or 0:>10,}"
        lines.append(f"{row.separation:>10.4g}  {row.n_tasks:>10}  {row.suboptimality:>20.4g}  {size}")
    return "\n".join(lines)
